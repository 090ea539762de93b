import { type Fields, fieldsOf, listOf, textOf } from '../../fields.ts';

const mostNodes = 5_000;

/** All nodes of the documents, however they are nested. `mostNodes` bounds the walk. */
export function walkJsonLd(documents: readonly unknown[]): readonly Fields[] {
  const nodes: Fields[] = [];
  const waiting: unknown[] = [...documents].reverse();
  for (let seen = 0; waiting.length > 0 && seen < mostNodes; seen++) {
    const value = waiting.pop();
    if (Array.isArray(value)) {
      waiting.push(...value.slice(0, 500).reverse());
    } else if (typeof value === 'object' && value !== null) {
      nodes.push(value as Fields);
      waiting.push(...Object.values(value).slice(0, 200).reverse());
    }
  }
  return nodes;
}

/** A type is a name, a list of names, a URL or a prefixed name. */
export function hasType(node: Fields, names: readonly string[]): boolean {
  return listOf(node['@type'], 10).some((type) => names.includes((textOf(type) ?? '').replace(/^.*[/:#]/, '')));
}

/** Resolves a bare `@id` reference to the node with that id and more fields. */
export type Resolve = (value: unknown) => Fields;

export function createResolver(nodes: readonly Fields[]): Resolve {
  const byId = new Map<string, Fields>();
  for (const node of nodes) {
    const id = textOf(node['@id']);
    if (id !== undefined && Object.keys(node).length > 1 && !byId.has(id)) byId.set(id, node);
  }
  return (value) => {
    const node = fieldsOf(value);
    const id = textOf(node['@id']);
    return id !== undefined && Object.keys(node).length === 1 ? (byId.get(id) ?? node) : node;
  };
}
