// The frame around every page: navigation, the page, and dialogs above it. The namespace is part of
// the address, so that a link opens the same page for every user.
import { Suspense, useEffect } from "react";
import { Route, Router, Switch, useLocation } from "wouter";
import { pages } from "../pages.tsx";
import { EmptyState, LoadingState } from "../parts/states.tsx";
import { routes } from "../routes.ts";
import { ConnectionLine } from "./connection-line.tsx";
import { KeyHelp } from "./key-help.tsx";
import { NamespaceProvider } from "./namespace.tsx";
import { Navigation } from "./navigation.tsx";
import { NoticeProvider } from "./notices.tsx";
import { PageBoundary } from "./page-boundary.tsx";
import { Palette } from "./palette.tsx";
import { TokenDialog } from "./token-dialog.tsx";

export function App() {
  return (
    <Switch>
      <Route path="/ns/:namespace/*?">
        {({ namespace = "" }) => (
          <Router base={`/ns/${encodeURIComponent(namespace)}`}>
            <Frame namespace={namespace} />
          </Router>
        )}
      </Route>
      <Route>
        <Frame namespace="default" />
      </Route>
    </Switch>
  );
}

function Frame({ namespace }: { readonly namespace: string }) {
  return (
    <NamespaceProvider name={namespace}>
      <NoticeProvider>
        <a className="skip" href="#page">
          Skip to content
        </a>
        <div className="frame">
          <Navigation />
          <div className="frame-body">
            <ConnectionLine />
            <main id="page" tabIndex={-1}>
              <Page />
            </main>
          </div>
        </div>
        <KeyHelp />
        <Palette />
        <TokenDialog />
      </NoticeProvider>
    </NamespaceProvider>
  );
}

function Page() {
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another address starts at its top.
  useEffect(() => {
    // In newer browsers scrollTo returns a promise, which must not be the effect's result.
    scrollTo(0, 0);
  }, [location]);
  return (
    <PageBoundary key={location}>
      <Suspense fallback={<LoadingState what="the page" wholePage />}>
        <Switch>
          {routes.map(({ id, path }) => {
            const Shown = pages[id];
            return Shown === undefined ? null : <Route key={id} path={path} component={Shown} />;
          })}
          <Route>
            <EmptyState
              title="There is no such page"
              wholePage
              text={`The dashboard has no page at ${location}.`}
              next={{ href: "/", text: "Go to the overview" }}
            />
          </Route>
        </Switch>
      </Suspense>
    </PageBoundary>
  );
}
