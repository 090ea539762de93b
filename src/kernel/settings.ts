import { z } from 'zod';
import { parseUrl } from './text/parse-url.ts';

/** The sandbox, where nothing is real, or live, where everything is. */
export type Mode = 'sandbox' | 'live';

/** The environment as it was given, without empty variables. */
export type Given = Readonly<Record<string, string | undefined>>;

/** A section of docs/settings.md. */
export interface SettingDocs {
  /** Its heading. Settings of several features may stand under the same one. */
  readonly room: string;
  /** By the name of the variable. Variables that only work together share a row: `SMTP_URL, MAIL_FROM`. */
  readonly rows: Readonly<Record<string, SettingRow>>;
}

export interface SettingRow {
  /** The default, as the operator would write it, or in words. */
  readonly usual: string;
  readonly does: string;
  readonly change: string;
}

/** The environment variables of one part of the service, and what it makes of them. */
export interface Settings<Value> {
  readonly variables: z.ZodRawShape;
  /** Only where there are variables: a feature may have constants alone, which a test replaces. */
  readonly docs?: SettingDocs;
  /** Variables whose value may be repeated in an error message. Every other value might hold a password. */
  readonly harmless?: readonly string[];
  read(env: never, mode: Mode): Value;
  /** The reasons why live mode must not start, a sentence each. */
  refuseLive?(env: never, given: Given): readonly string[];
}

interface Declaration<Shape extends z.ZodRawShape, Value> {
  readonly variables: Shape;
  readonly docs?: SettingDocs;
  readonly harmless?: readonly (keyof Shape & string)[];
  read(env: z.output<z.ZodObject<Shape>>, mode: Mode): Value;
  refuseLive?(env: z.output<z.ZodObject<Shape>>, given: Given): readonly string[];
}

export function defineSettings<const Shape extends z.ZodRawShape, Value>(
  declared: Declaration<Shape, Value>,
): Settings<Value> {
  return declared;
}

/** For live mode: a sentence for each needed variable that is not set. */
export function missing(env: Readonly<Record<string, unknown>>, needed: Readonly<Record<string, string>>): string[] {
  return Object.entries(needed).flatMap(([name, why]) =>
    env[name] === undefined ? [`${name} is missing: ${why}`] : [],
  );
}

export const wholeNumber = (from: number, to: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${from} to ${to}`)
    .transform(Number)
    .refine((value) => value >= from && value <= to, `must be a whole number from ${from} to ${to}`)
    .default(fallback);

/**
 * Takes no leading blanks and no capitals in the scheme: parsers disagree about them, and one that checks for encryption must
 * not see another URL than the one that connects.
 */
export const url = (...protocols: string[]) => {
  const beginnings = protocols.map((protocol) => `${protocol}//`);
  return z.string().refine((text) => beginnings.some((one) => text.startsWith(one)) && parseUrl(text) !== undefined, {
    error: `must be a URL that begins with ${beginnings.join(' or ')}`,
  });
};
