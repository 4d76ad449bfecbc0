// A graph of steps, which can be zoomed and moved. Its nodes keep their positions while their
// states change; only a change of its shape starts a new layout.
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
} from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import "@xyflow/react/dist/base.css";
import "./graph.css";
import { numberWords } from "../words/counts.ts";
import type { Status } from "./badge.tsx";
import { type GraphShape, NODE_HEIGHT, NODE_WIDTH, type Positions } from "./graph-layout.ts";
import { Icon } from "./icon.tsx";
import { LoadingState } from "./states.tsx";

export interface GraphNode extends Status {
  readonly id: string;
  readonly needs: readonly string[];
  /** Shown below the name: what the step does, or its progress. */
  readonly note: string;
  /** 0 to 1; left out: unknown. */
  readonly progress?: number;
  /** What has been counted at this node; left out: nothing. */
  readonly count?: GraphCount;
}

export interface GraphCount {
  readonly number: number;
  /** The number with what it counts: "3 failures in 24 hours". */
  readonly words: string;
  /** 0 to 1: its part of the largest number in the graph, which tints the node most. */
  readonly heat: number;
}

export interface GraphProps {
  /** What the graph shows: "Steps of the run". */
  readonly name: string;
  readonly nodes: readonly GraphNode[];
  readonly picked?: string | null;
  readonly onPick?: (id: string) => void;
}

/** With more nodes it is big: it is higher, and follows the node that is picked. */
const SMALL_MAX = 12;

type StepNode = Node<GraphNode & { readonly [key: string]: unknown }, "step">;

export function Graph({ name, nodes, picked = null, onPick }: GraphProps) {
  const positions = usePositions(nodes);
  const drawn = useMemo(
    () =>
      positions === null
        ? []
        : nodes.map(
            (node): StepNode => ({
              id: node.id,
              type: "step",
              data: { ...node },
              position: positions[node.id] ?? { x: 0, y: 0 },
              width: NODE_WIDTH,
              height: NODE_HEIGHT,
              // React Flow measures only nodes that it draws, and fits only measured ones.
              measured: { width: NODE_WIDTH, height: NODE_HEIGHT },
              selected: node.id === picked,
              ariaLabel: [node.id, node.word, ...(node.count ? [node.count.words] : [])].join(", "),
              handles: [
                { type: "target", position: Position.Left, x: 0, y: NODE_HEIGHT / 2 },
                { type: "source", position: Position.Right, x: NODE_WIDTH, y: NODE_HEIGHT / 2 },
              ],
            }),
          ),
    [nodes, positions, picked],
  );
  const edges = useMemo(() => nodes.flatMap(edgesOf), [nodes]);
  const flow = useRef<ReactFlowInstance<StepNode> | null>(null);
  useEffect(() => {
    if (flow.current !== null && picked !== null) centre(flow.current, picked);
  }, [picked]);
  if (positions === null) return <LoadingState what="the graph" />;
  return (
    <section
      className="graph"
      aria-label={name}
      data-size={nodes.length > SMALL_MAX ? "big" : "small"}
    >
      <ReactFlow
        nodes={drawn}
        edges={edges}
        nodeTypes={nodeTypes}
        onNodeClick={(_event, { id }) => onPick?.(id)}
        onNodesChange={(changes) => {
          const chosen = changes.find((one) => one.type === "select" && one.selected);
          if (chosen?.type === "select") onPick?.(chosen.id);
        }}
        onlyRenderVisibleElements
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        deleteKeyCode={null}
        minZoom={MIN_ZOOM}
        onInit={(instance) => {
          flow.current = instance;
          showStart(instance, picked);
        }}
        fitViewOptions={FIT}
        // The wheel scrolls the page; with Ctrl it zooms.
        zoomOnScroll={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} orientation="horizontal" />
      </ReactFlow>
    </section>
  );
}

/** A chain of 500 steps fits into the frame of the graph. */
const MIN_ZOOM = 0.003;
const FIT = { maxZoom: 1, padding: 0.1 };
/** With a smaller zoom no name can be read. */
const READABLE_ZOOM = 0.4;

/** Shows the whole graph if it can be read then, or else the step that is picked, or its first. */
function showStart(flow: ReactFlowInstance<StepNode>, picked: string | null): void {
  void flow.fitView(FIT).then(() => {
    if (flow.getZoom() >= READABLE_ZOOM) return;
    const first = flow.getNodes().toSorted((a, b) => a.position.x - b.position.x)[0];
    if (picked !== null) centre(flow, picked);
    else if (first !== undefined) centre(flow, first.id, NODE_WIDTH);
  });
}

/** Moves a graph that cannot be seen as a whole, so that the node is `aside` left of the middle. */
function centre(flow: ReactFlowInstance<StepNode>, id: string, aside = 0): void {
  const node = flow.getNode(id);
  if (node === undefined || flow.getNodes().length <= SMALL_MAX) return;
  const { x, y } = node.position;
  const zoom = Math.max(flow.getZoom(), READABLE_ZOOM * 2);
  void flow.setCenter(x + NODE_WIDTH / 2 + aside, y + NODE_HEIGHT / 2, { zoom });
}

function edgesOf({ id, needs }: GraphNode): Edge[] {
  return needs.map((from) => ({
    id: `${from} ${id}`,
    source: from,
    target: id,
    markerEnd: { type: MarkerType.ArrowClosed, color: "var(--line-strong)", width: 18, height: 18 },
  }));
}

/** The more was counted, the stronger. */
const tint = (heat: number) => ({
  background: `color-mix(in srgb, var(--bad-soft) ${Math.round(30 + 70 * heat)}%, var(--surface))`,
});

function StepBox({ data, selected }: NodeProps<StepNode>) {
  const { count } = data;
  return (
    <div
      className="graph-node"
      data-tone={data.tone}
      data-picked={selected}
      style={count && tint(count.heat)}
    >
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Icon name={data.tone} />
      <div>
        <strong title={data.id}>{data.id}</strong>
        <span>{data.note === "" ? data.word : `${data.word}, ${data.note}`}</span>
      </div>
      {count === undefined ? null : (
        <b title={count.words} role="img" aria-label={count.words}>
          {numberWords(count.number)}
        </b>
      )}
      {data.progress === undefined ? null : (
        <progress aria-label="Progress" value={data.progress} max={1} />
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  );
}

const nodeTypes = { step: StepBox };

/** null: not laid out yet. */
function usePositions(nodes: readonly GraphNode[]): Positions | null {
  const shape = useMemo((): GraphShape => {
    const known = new Set(nodes.map(({ id }) => id));
    const edges = nodes.flatMap(({ id, needs }) =>
      needs.filter((from) => known.has(from)).map((from) => [from, id] as const),
    );
    return { nodes: [...known], edges };
  }, [nodes]);
  // New states come as new nodes of the same shape, which need no new layout.
  const key = JSON.stringify(shape);
  const [placed, setPlaced] = useState<{ key: string; positions: Positions } | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL("./graph-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Positions>) => setPlaced({ key, positions: data });
    worker.postMessage(JSON.parse(key));
    return () => worker.terminate();
  }, [key]);
  return placed?.key === key ? placed.positions : null;
}
