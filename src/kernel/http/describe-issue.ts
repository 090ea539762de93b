import type { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;
type Sized = z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig;

/**
 * The error map of every parse, so that clients never see zod's own messages. A message begins with a verb, because the name of the
 * field precedes it.
 */
export function describeIssue(raw: RawIssue): string {
  const issue = raw as z.core.$ZodIssue & { readonly input?: unknown };
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${typeName(issue.expected)}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${quoted(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return `must ${sizeWord(issue)}${limitWord(issue, 'most', 'less than')} ${issue.maximum}${unitOf(issue, issue.maximum)}`;
    case 'invalid_format':
      return formatSentence(issue);
    case 'not_multiple_of':
      return issue.divisor === 1 ? 'must be a whole number' : `must be a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return unionSentence(issue);
    case 'invalid_key':
      return 'has a key that is not allowed';
    case 'invalid_element':
      return 'has an entry that is not allowed';
    case 'unrecognized_keys':
      return 'has a field that this operation does not accept';
    default:
      return 'is not valid here';
  }
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  null: 'null',
  record: 'an object',
};

function typeName(type: string): string {
  return typeNames[type] ?? (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`);
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}

function tooSmall(issue: z.core.$ZodIssueTooSmall): string {
  if (issue.origin === 'string' && issue.minimum === 1) return 'must not be empty';
  return `must ${sizeWord(issue)}${limitWord(issue, 'least', 'more than')} ${issue.minimum}${unitOf(issue, issue.minimum)}`;
}

const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
  set: ['item', 'items'],
  map: ['entry', 'entries'],
  object: ['field', 'fields'],
  file: ['byte', 'bytes'],
};

function sizeWord({ origin }: Sized): string {
  return origin in units ? 'have ' : 'be ';
}

function limitWord({ exact, inclusive }: Sized, limit: 'least' | 'most', beyond: string): string {
  if (exact === true) return 'exactly';
  return inclusive === false ? beyond : `at ${limit}`;
}

function unitOf({ origin }: Sized, size: number | bigint): string {
  const words = units[origin];
  return words === undefined ? '' : ` ${Number(size) === 1 ? words[0] : words[1]}`;
}

const formats: Readonly<Record<string, string>> = {
  email: 'an email address',
  url: 'a URL such as https://example.com/page',
  datetime: 'a date and time such as 2027-01-31T12:00:00Z',
  date: 'a date such as 2027-01-31',
  time: 'a time such as 12:00:00',
  duration: 'a duration such as PT1H',
  uuid: 'a UUID',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  base64: 'base64',
  base64url: 'base64url',
  e164: 'a phone number with country code, such as +14155550123',
  json_string: 'JSON',
  lowercase: 'in lower case',
  uppercase: 'in upper case',
};

interface Parts {
  readonly prefix?: string;
  readonly suffix?: string;
  readonly includes?: string;
}

function formatSentence(issue: z.core.$ZodIssueInvalidStringFormat & Parts): string {
  if (issue.format === 'starts_with') return `must begin with "${issue.prefix}"`;
  if (issue.format === 'ends_with') return `must end with "${issue.suffix}"`;
  if (issue.format === 'includes') return `must contain "${issue.includes}"`;
  const known = formats[issue.format];
  return known === undefined ? 'has an invalid format' : `must be ${known}`;
}

/** The values of the deciding field of a discriminated union. */
interface Discriminated {
  readonly options?: readonly z.core.util.Primitive[];
}

/** Merges the messages of all options: "must be a number or a string". */
function unionSentence({ errors, options }: z.core.$ZodIssueInvalidUnion & Discriminated): string {
  if (options !== undefined) return `must be one of ${options.map(String).join(', ')}`;
  const said = [...new Set(errors.map(([first]) => first?.message ?? 'is not valid here'))];
  if (said.length === 0) return 'has a form that this operation does not accept';
  const kinds = said.map((message) => /^must be (.+)$/.exec(message)?.[1]);
  if (kinds.every((kind) => kind !== undefined)) return `must be ${kinds.join(' or ')}`;
  return said.join(', or ');
}
