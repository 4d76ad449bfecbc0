// Filters of the runs list with names, as links above the list. They are kept in this browser, for
// each namespace by itself.
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { Act, written } from "../../parts/act.tsx";
import { Field } from "../../parts/field.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { keepViews, keptViews, type SavedView, viewsWith, viewsWithout } from "./kept-views.ts";

const NAME_MAX = 40;

export function SavedViews() {
  const namespace = useNamespace();
  const [search] = useSearchParams();
  const [views, setViews] = useState(() => keptViews(namespace));
  const here = search.toString();
  const change = (next: readonly SavedView[]) => {
    keepViews(namespace, next);
    setViews(next);
  };
  const isSaved = views.some((view) => view.search === here);
  if (views.length === 0 && here === "") return null;
  return (
    <div className="views">
      {views.length === 0 ? null : (
        <ul aria-label="Saved views">
          {views.map(({ name, search: of }) => (
            <li key={name} data-here={of === here}>
              <Link href={`/runs?${of}`} aria-current={of === here ? "page" : undefined}>
                <Foreign text={name} />
              </Link>
              <button
                type="button"
                className="quiet"
                aria-label={`Delete the view ${name}`}
                onClick={() => change(viewsWithout(views, name))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {here === "" || isSaved ? null : (
        <Act
          name="Save view"
          title="Save this filter as a view?"
          act="Save"
          variant="quiet"
          onAct={async (form) => {
            const name = written(form, "name");
            change(viewsWith(views, { name, search: here }));
            return `The view ${name} is saved.`;
          }}
        >
          <p>It is kept in this browser. A view with the same name is replaced.</p>
          <Field name="Name">
            <input name="name" required maxLength={NAME_MAX} autoComplete="off" />
          </Field>
        </Act>
      )}
    </div>
  );
}
