import { joinNodes, nodeBytes, readNode, type TreeNode, writeNode } from './tree-hash.ts';

/** A page stores 32 neighbouring nodes, from which the 31 nodes above them follow: five steps of a branch. */
const stepsPerPage = 5;

export interface Page {
  readonly level: number;
  readonly number: number;
  readonly nodes: Buffer;
}

/** Yields each page as soon as its nodes are known, so that only one page per level is in memory. */
export function* pagesOf(leaves: Iterable<TreeNode>, depth: number): Generator<Page, TreeNode> {
  const open: { nodes: TreeNode[]; number: number }[] = [];
  for (const leaf of leaves) {
    let top = leaf;
    for (let level = 0; ; level++) {
      const page = open[level] ?? { nodes: [], number: 0 };
      open[level] = page;
      page.nodes.push(top);
      if (page.nodes.length < nodesOnPage(level, depth)) break;
      yield { level, number: page.number, nodes: encode(page.nodes) };
      top = topOf(layersOf(page.nodes));
      if (level === topLevel(depth)) return top;
      open[level] = { nodes: [], number: page.number + 1 };
    }
  }
  throw new Error('the tree has fewer leaves than its depth requires');
}

/** The sibling at a step, and its side. */
interface BranchStep extends TreeNode {
  readonly side: 'left' | 'right';
}

interface PageName {
  readonly level: number;
  readonly number: number;
}

/** The pages that a leaf's branch is read from, lowest first. */
export function pagesOnBranch(place: number, depth: number): PageName[] {
  return Array.from({ length: topLevel(depth) + 1 }, (_, level) => ({
    level,
    number: Math.floor(place / 2 ** (stepsPerPage * (level + 1))),
  }));
}

interface BranchReader {
  leaf(place: number): TreeNode;
  branch(place: number): BranchStep[];
}

/** Reads branches from fetched pages, and computes each page once. */
export function createBranchReader(pages: readonly Page[], depth: number): BranchReader {
  const worked = new Map<string, TreeNode[][]>();
  for (const { level, number, nodes } of pages) worked.set(`${level}:${number}`, layersOf(decode(nodes)));
  const layersAt = ({ level, number }: PageName) => {
    const layers = worked.get(`${level}:${number}`);
    if (layers === undefined) throw new Error(`page ${number} of level ${level} is missing`);
    return layers;
  };

  return {
    leaf(place) {
      const [leaves = []] = layersAt({ level: 0, number: place >>> stepsPerPage });
      return known(leaves[place % leaves.length]);
    },
    branch: (place) =>
      pagesOnBranch(place, depth).flatMap((name) => {
        const within = Math.floor(place / 2 ** (stepsPerPage * name.level)) % nodesOnPage(name.level, depth);
        return layersAt(name)
          .slice(0, -1)
          .map((layer, step) => siblingOf(layer, within >>> step));
      }),
  };
}

function siblingOf(layer: readonly TreeNode[], index: number): BranchStep {
  return { ...known(layer[index ^ 1]), side: index % 2 === 0 ? 'right' : 'left' };
}

/** The nodes, the layer above them, and so on up to the single top node. */
function layersOf(nodes: readonly TreeNode[]): TreeNode[][] {
  const layers: TreeNode[][] = [[...nodes]];
  for (let layer = layers[0] ?? []; layer.length > 1; ) {
    const above: TreeNode[] = [];
    for (let index = 0; index < layer.length; index += 2) {
      above.push(joinNodes(layer[index] as TreeNode, layer[index + 1] as TreeNode));
    }
    layers.push(above);
    layer = above;
  }
  return layers;
}

function topLevel(depth: number): number {
  return Math.ceil(depth / stepsPerPage) - 1;
}

function nodesOnPage(level: number, depth: number): number {
  return 2 ** Math.min(stepsPerPage, depth - stepsPerPage * level);
}

function encode(nodes: readonly TreeNode[]): Buffer {
  const bytes = Buffer.alloc(nodes.length * nodeBytes);
  for (const [index, node] of nodes.entries()) writeNode(bytes, node, index * nodeBytes);
  return bytes;
}

function decode(bytes: Buffer): TreeNode[] {
  return Array.from({ length: bytes.length / nodeBytes }, (_, index) => readNode(bytes, index * nodeBytes));
}

function topOf(layers: readonly TreeNode[][]): TreeNode {
  return known(layers.at(-1)?.[0]);
}

function known(node: TreeNode | undefined): TreeNode {
  if (node === undefined) throw new Error('the tree has no such node');
  return node;
}

/** Places as stored: four bytes each. */
export function encodePlaces(places: Uint32Array): Buffer {
  const bytes = Buffer.alloc(places.length * 4);
  for (const [index, place] of places.entries()) bytes.writeUInt32BE(place, index * 4);
  return bytes;
}

export function decodePlaces(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readUInt32BE(index * 4));
}
