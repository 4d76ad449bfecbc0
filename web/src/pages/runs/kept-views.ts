// The saved views of a namespace in the storage of the browser. What cannot be read is no view.

export interface SavedView {
  /** Unique in its namespace. */
  readonly name: string;
  /** The query of the address: `state=FAILED&workflow=order`. */
  readonly search: string;
}

const keyOf = (namespace: string) => `drover.views ${namespace}`;

export function keptViews(namespace: string): readonly SavedView[] {
  return viewsOf(localStorage.getItem(keyOf(namespace)) ?? "");
}

export function keepViews(namespace: string, views: readonly SavedView[]): void {
  localStorage.setItem(keyOf(namespace), JSON.stringify(views));
}

export function viewsOf(text: string): readonly SavedView[] {
  try {
    const views: unknown = JSON.parse(text);
    return Array.isArray(views) ? views.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  if (typeof value !== "object" || value === null) return false;
  return ["name", "search"].every((key) => typeof Reflect.get(value, key) === "string");
}

/** By name; one of the same name is replaced. */
export function viewsWith(views: readonly SavedView[], view: SavedView): readonly SavedView[] {
  return [...viewsWithout(views, view.name), view].sort((a, b) => a.name.localeCompare(b.name));
}

export function viewsWithout(views: readonly SavedView[], name: string): readonly SavedView[] {
  return views.filter((view) => view.name !== name);
}
