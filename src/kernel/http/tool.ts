/** How a program that lets a model choose its operations presents one: as an MCP tool, a method or a command. */
export interface Tool {
  /** Named after the job. Unique. */
  readonly name: string;
  readonly title: string;
  readonly hints: ToolHints;
}

/** The annotations of MCP. A client may run what only reads without asking its person. */
export interface ToolHints {
  readonly readOnly: boolean;
  /** Takes something away that does not come back by itself, such as money. */
  readonly destructive: boolean;
  /** Has no further effect when it is called again with the same arguments. */
  readonly idempotent: boolean;
  /** Reaches third parties, whose texts are in the result. */
  readonly openWorld: boolean;
}

export const reads: ToolHints = { readOnly: true, destructive: false, idempotent: true, openWorld: false };

export const creates: ToolHints = { readOnly: false, destructive: false, idempotent: false, openWorld: false };

/** Idempotent, because a client of tools turns on the guard against repeated payments (duplicate-guard.ts). */
export const moves: ToolHints = { readOnly: false, destructive: true, idempotent: true, openWorld: false };
