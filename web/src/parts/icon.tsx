// Small icons for pages and states. They are always next to a word, never alone.

const paths = {
  overview: "M3 9.5 10 4l7 5.5V16H3zM8 16v-4h4v4",
  runs: "M4 5h12M4 10h12M4 15h8",
  run: "M4 5h12M4 10h12M4 15h8",
  workflows: "M4 4h5v4H4zM11 12h5v4h-5zM6.5 8v6H11",
  queues: "M3 6h14M3 10h14M3 14h14M6 4v4M12 8v4M8 12v4",
  supervisors:
    "M2.5 10S5.500 5 10 5s7.500 5 7.500 5-3 5-7.500 5-7.500-5-7.500-5zM10 8a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  approvals: "M4 4h12v12H4zM7 10l2.200 2.200L13.200 8",
  escalations: "M10 3.500 17.500 16h-15zM10 8v4M10 14v.2",
  schedules: "M4 5h12v11H4zM4 8.500h12M7 3v3M13 3v3",
  triggers: "M4 10h9M9.500 6l4 4-4 4M16 4v12",
  hooks: "M4 4v6a4 4 0 0 0 8 0V6M9 9l3-3 3 3",
  namespaces: "M3 6h5l2 2h7v8H3z",
  interventions: "M11 3 5 11h4l-1 6 7-9h-4z",
  audit: "M5 3h7l3 3v11H5zM8 9h4M8 12h4",
  ok: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM7 10l2.200 2.200L13.200 8",
  moving: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM8.500 7.200v5.600l4.600-2.800z",
  waiting: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l2.600 1.600",
  idle: "M10 4.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11z",
  paused: "M7.500 5v10M12.500 5v10",
  warning: "M10 3.500 17.500 16h-15zM10 8v4M10 14v.2",
  bad: "M4 4h12v12H4zM7.500 7.500l5 5M12.500 7.500l-5 5",
  undo: "M8 5 4 9l4 4M4 9h8a4 4 0 0 1 0 8H9",
  none: "M5 10h10",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
