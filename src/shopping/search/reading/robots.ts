import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { readText } from './read-answer.ts';

interface RobotsRule {
  readonly allow: boolean;
  readonly pattern: string;
}

/**
 * The rules of a robots.txt that apply to us (RFC 9309): the groups that name us or, without one, the groups for `*`. Each line
 * of the result is + or - and a pattern.
 */
export function readRobots({ agent, ...answer }: AnswerBytes & { readonly agent: string }): string {
  return parseRobots(readText(answer), agent)
    .map(({ allow, pattern }) => `${allow ? '+' : '-'}${pattern}`)
    .join('\n');
}

/** The longest matching rule wins; between two of equal length, the one that allows. */
export function mayRead({ rules, path }: { readonly rules: string; readonly path: string }): boolean {
  if (path.split('?', 1)[0] === '/robots.txt') return true;
  const asked = sameOctets(path);
  let decided: RobotsRule | undefined;
  for (const line of rules.split('\n')) {
    const rule = { allow: line.startsWith('+'), pattern: line.slice(1) };
    const longer = decided === undefined || rule.pattern.length > decided.pattern.length;
    const kinder = rule.allow && rule.pattern.length === decided?.pattern.length;
    if (rule.pattern !== '' && (longer || kinder) && matches(asked, rule.pattern)) decided = rule;
  }
  return decided?.allow ?? true;
}

/** Merges all groups for the same agent. Ignores malformed lines. */
function parseRobots(text: string, agent: string): readonly RobotsRule[] {
  const forUs: RobotsRule[] = [];
  const forAll: RobotsRule[] = [];
  let named = false;
  let heading = false;
  let reads = new Set<RobotsRule[]>();
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    const content = line.split('#', 1)[0] ?? '';
    const colon = content.indexOf(':');
    if (colon === -1) continue;
    const field = content.slice(0, colon).trim().toLowerCase();
    const value = content.slice(colon + 1).trim();
    if (field === 'user-agent') {
      if (!heading) reads = new Set();
      heading = true;
      const token = /^(?:[A-Za-z_-]+|\*)/.exec(value)?.[0]?.toLowerCase();
      if (token === agent.toLowerCase()) {
        named = true;
        reads.add(forUs);
      } else if (token === '*') reads.add(forAll);
    } else if (field === 'allow' || field === 'disallow') {
      heading = false;
      // RFC 9309: an empty pattern matches nothing.
      if (value === '') continue;
      const rule = { allow: field === 'allow', pattern: sameOctets(value) };
      for (const rules of reads) rules.push(rule);
    }
  }
  return named ? forUs : forAll;
}

/** Matches each piece between the stars greedily, so the time is linear for any pattern. */
function matches(path: string, pattern: string): boolean {
  const anchored = pattern.endsWith('$');
  const [first = '', ...pieces] = (anchored ? pattern.slice(0, -1) : pattern).split('*');
  if (!path.startsWith(first)) return false;
  if (pieces.length === 0) return !anchored || path.length === first.length;
  const last = anchored ? (pieces.pop() ?? '') : '';
  let from = first.length;
  for (const piece of pieces) {
    const at = path.indexOf(piece, from);
    if (at === -1) return false;
    from = at + piece.length;
  }
  return !anchored || (path.length - last.length >= from && path.endsWith(last));
}

/** Normalizes percent-encoding: escapes non-ASCII characters and unescapes letters and digits. */
function sameOctets(text: string): string {
  return text
    .replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character.toWellFormed()))
    .replace(/%[0-9a-f]{2}/gi, (octet) => {
      const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16));
      return /[\w.~-]/.test(character) ? character : octet.toUpperCase();
    });
}
