import type { AnswerBytes } from '../../../kernel/parser/task.ts';

/** Real responses are far flatter. The limit lets readers recurse safely. */
const mostNesting = 60;
/** Bounds what the parser process hands back to the service. */
const mostParts = 10_000;

/** Decodes with the charset of the headers or, without one there, of the markup. */
export function readText({ type, bytes }: AnswerBytes): string {
  const named = /charset=["']?([\w-]{1,40})/i.exec(type)?.[1] ?? charsetInMarkup(bytes);
  return decoderFor(named).decode(bytes);
}

export function readJson(answer: AnswerBytes): unknown {
  if (!/\b(?:json|javascript)\b/i.test(answer.type)) return undefined;
  return parseJson(readText(answer));
}

/** For readers that need the whole document. Undefined if it has too many values. */
export function readSmallJson(answer: AnswerBytes): unknown {
  const value = readJson(answer);
  const open: unknown[] = [value];
  for (let parts = 0; open.length > 0; parts++) {
    const part = open.pop();
    if (typeof part !== 'object' || part === null) continue;
    const inner = Object.values(part);
    if (parts + open.length + inner.length > mostParts) return undefined;
    for (const one of inner) open.push(one);
  }
  return value;
}

/** Undefined if the text is not JSON or is nested too deeply. */
export function parseJson(text: string): unknown {
  if (nestingOf(text) > mostNesting) return undefined;
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}

function charsetInMarkup(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1');
  return /<meta[^>]{0,200}charset=["']?([\w-]{1,40})/i.exec(start)?.[1];
}

function decoderFor(charset = 'utf-8'): { decode(bytes: Uint8Array): string } {
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (quoted) {
      if (code === 0x5c) index++;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x7d || code === 0x5d) depth--;
  }
  return deepest;
}
