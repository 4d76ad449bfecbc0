// VitePress' own theme, without its font, and with what tables and diagrams need.
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
