import { z } from 'zod';
import { parseUrl } from './text/parse-url.ts';

/** The sandbox, where nothing is real, or live, where everything is. */
export type Mode = 'sandbox' | 'live';

/** What the environment may say about one part of the service. Each part declares its own variables. */
export interface Settings<Value> {
  readonly variables: z.ZodRawShape;
  /** Lines of the README's table. */
  readonly readme: readonly string[];
  /** Variables whose value may be repeated in an error message. Everything else might hold a password. */
  readonly harmless?: readonly string[];
  read(env: never, mode: Mode): Value;
  /** What keeps live mode from starting, a sentence each. */
  refuseLive?(env: never, given: Given): readonly string[];
}

/** The environment as it was given: variables that are empty are left out. */
export type Given = Readonly<Record<string, string | undefined>>;

interface Declaration<Shape extends z.ZodRawShape, Value> {
  readonly variables: Shape;
  readonly readme: readonly string[];
  readonly harmless?: readonly (keyof Shape & string)[];
  read(env: z.output<z.ZodObject<Shape>>, mode: Mode): Value;
  refuseLive?(env: z.output<z.ZodObject<Shape>>, given: Given): readonly string[];
}

export function defineSettings<const Shape extends z.ZodRawShape, Value>(
  declared: Declaration<Shape, Value>,
): Settings<Value> {
  return declared;
}

/** For live mode: which of these are not there, and why each is needed. */
export function missing(env: Readonly<Record<string, unknown>>, needed: Readonly<Record<string, string>>): string[] {
  return Object.entries(needed).flatMap(([name, why]) =>
    env[name] === undefined ? [`${name} is missing: ${why}`] : [],
  );
}

/** Below every limit that can be set: what is usual depends on the mode. */
export const notGiven = -1;

export const orUsual = (chosen: number, usual: number) => (chosen === notGiven ? usual : chosen);

export const wholeNumber = (from: number, to: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${from} to ${to}`)
    .transform(Number)
    .refine((value) => value >= from && value <= to, `must be a whole number from ${from} to ${to}`)
    .default(fallback);

/**
 * To the letter: blanks before it and capitals are the same URL to some who read it and another to others, one of whom may look
 * whether it is encrypted and the other one connect.
 */
export const url = (...protocols: string[]) => {
  const beginnings = protocols.map((protocol) => `${protocol}//`);
  return z.string().refine((text) => beginnings.some((one) => text.startsWith(one)) && parseUrl(text) !== undefined, {
    error: `must be a URL that begins with ${beginnings.join(' or ')}`,
  });
};
