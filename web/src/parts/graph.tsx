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
} from "@xyflow/react";
import { useEffect, useMemo, useState } from "react";
import "@xyflow/react/dist/base.css";
import "./graph.css";
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
}

export interface GraphProps {
  /** What the graph shows: "Steps of the run". */
  readonly name: string;
  readonly nodes: readonly GraphNode[];
  readonly picked?: string | null;
  readonly onPick?: (id: string) => void;
}

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
              selected: node.id === picked,
              ariaLabel: `${node.id}, ${node.word}`,
              handles: [
                { type: "target", position: Position.Left, x: 0, y: NODE_HEIGHT / 2 },
                { type: "source", position: Position.Right, x: NODE_WIDTH, y: NODE_HEIGHT / 2 },
              ],
            }),
          ),
    [nodes, positions, picked],
  );
  const edges = useMemo(() => nodes.flatMap(edgesOf), [nodes]);
  if (positions === null) return <LoadingState what="the graph" />;
  return (
    <section className="graph" aria-label={name} data-size={nodes.length > 12 ? "big" : "small"}>
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
        minZoom={0.05}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} orientation="horizontal" />
      </ReactFlow>
    </section>
  );
}

function edgesOf({ id, needs }: GraphNode): Edge[] {
  return needs.map((from) => ({
    id: `${from} ${id}`,
    source: from,
    target: id,
    markerEnd: { type: MarkerType.ArrowClosed, color: "var(--line-strong)", width: 18, height: 18 },
  }));
}

function StepBox({ data, selected }: NodeProps<StepNode>) {
  return (
    <div className="graph-node" data-tone={data.tone} data-picked={selected}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <Icon name={data.tone} />
      <div>
        <strong title={data.id}>{data.id}</strong>
        <span>{data.note === "" ? data.word : `${data.word}, ${data.note}`}</span>
      </div>
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
