// A worker that lays out graphs; see graph-layout.ts.
import { type GraphShape, placesOf } from "./graph-layout.ts";

addEventListener("message", ({ data }: MessageEvent<GraphShape>) => postMessage(placesOf(data)));
