// The entry point of the dashboard: it sets the theme, then renders the shell. All else is in
// pages.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./shell/app.tsx";
import { finishSignIn, renewInTime } from "./shell/sign-in.ts";
import { showTheme } from "./shell/theme.ts";
import "./styles/tokens.css";
import "./styles/page.css";
import "./styles/shell.css";
import "./styles/parts.css";
import "./styles/pages.css";

showTheme();
const root = document.getElementById("app");
if (!root) throw new Error("index.html has no element #app");
void finishSignIn().then(() => {
  renewInTime();
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
});
