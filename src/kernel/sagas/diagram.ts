import { isEnd, type Saga } from './define-saga.ts';

/** A Mermaid diagram of the saga. A test compares it with the one in the README. */
export function drawSaga({ states }: Saga): string {
  const entries = Object.entries(states);
  const reached = new Set(entries.flatMap(([, { next }]) => next));
  const lines = [
    'stateDiagram-v2',
    ...entries.filter(([name]) => !reached.has(name)).map(([name]) => `  [*] --> ${name}`),
    ...entries.flatMap(([name, { next }]) => next.map((after) => `  ${name} --> ${after}`)),
    ...entries.filter(([, state]) => isEnd(state)).map(([name]) => `  ${name} --> [*]`),
    ...entries.map(([name, { meaning }]) => `  ${name} : ${name.replaceAll('_', ' ')} (${plain(meaning)})`),
  ];
  return lines.join('\n');
}

/** A colon or a quote would end the text for Mermaid. */
function plain(text: string): string {
  return text.replaceAll(/[:;]/g, ',').replaceAll('"', '');
}
