import type { OutgoingAnswer } from '../outgoing/outgoing.ts';

/** No honest answer is nested like this, and whoever walks through it should not have to be careful. */
const mostNesting = 60;

type Answered = Pick<OutgoingAnswer, 'headers' | 'body'>;

/** In the charset that its headers or, failing these, its first lines name. */
export function readText({ headers, body }: Answered): string {
  const type = String(headers['content-type'] ?? '').slice(0, 200);
  const named = /charset=["']?([\w-]{1,40})/i.exec(type)?.[1] ?? charsetInMarkup(body);
  return decoderFor(named).decode(body);
}

export function readJson(answer: Answered): unknown {
  const type = String(answer.headers['content-type'] ?? '').slice(0, 200);
  if (!/\b(?:json|javascript)\b/i.test(type)) return undefined;
  return parseJson(readText(answer));
}

/** Undefined when it is none, or nested beyond reason. */
export function parseJson(text: string): unknown {
  if (nestingOf(text) > mostNesting) return undefined;
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    return undefined;
  }
}

function charsetInMarkup(body: Buffer): string | undefined {
  const start = body.subarray(0, 1_024).toString('latin1');
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
