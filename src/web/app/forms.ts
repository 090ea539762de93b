import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Site } from '../../accounts/second-factor/passkey.ts';
import type { Fields } from '../../kernel/http/parse-form.ts';
import { defineErrors } from '../../kernel/http/problem.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { parseUrl } from '../../kernel/text/parse-url.ts';
import { type Html, html } from '../html.ts';

const formErrors = defineErrors({
  form_refused: {
    status: 403,
    title: 'Form refused',
    detail:
      'The form did not come from this page, or is too old. Nothing was changed. Open the page again and repeat what you did.',
  },
});

export interface FormParts {
  readonly secrets: Secrets;
  readonly publicUrl: () => string;
}

const tokenField = 'form';
const visitorCookie = 'visitor';

/** A cookie with this prefix is set by this host alone, over https. */
function cookieName({ publicUrl }: FormParts, name: string): string {
  return publicUrl().startsWith('https:') ? `__Host-paywright-${name}` : `paywright-${name}`;
}

/**
 * Undefined also where the name comes twice, because another host may have set one of them. Only spaces and tabs surround a pair:
 * other white space would let a name pass that the prefix does not protect.
 */
export function readCookie(parts: FormParts, { headers }: FastifyRequest, name: string): string | undefined {
  const start = `${cookieName(parts, name)}=`;
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.replace(/^[ \t]+|[ \t]+$/g, ''));
  const [value, ...others] = pairs.flatMap((pair) => (pair.startsWith(start) ? [pair.slice(start.length)] : []));
  return others.length === 0 ? value || undefined : undefined;
}

/** A cookie of the browser session. An empty value removes it. */
export function setCookie(parts: FormParts, reply: FastifyReply, name: string, value: string): void {
  const isSecure = parts.publicUrl().startsWith('https:');
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}${value === '' ? '; Max-Age=0' : ''}`;
  reply.header('set-cookie', `${cookieName(parts, name)}=${value}; ${attributes}`);
}

/** The hidden field of a form. Only a page that this browser was given has it, because it belongs to a cookie. */
export function formField({ secrets }: FormParts, cookie: string): Html {
  return html`<input type="hidden" name="${tokenField}" value="${secrets.hash('forms', cookie).toString('base64url')}">`;
}

/** For a visitor without a session: forms belong to a cookie of their own. */
export function visitorOf(parts: FormParts, request: FastifyRequest, reply: FastifyReply): string {
  const known = readCookie(parts, request, visitorCookie);
  const cookie = known ?? randomBytes(16).toString('base64url');
  if (known === undefined) setCookie(parts, reply, visitorCookie, cookie);
  return cookie;
}

/** Throws unless a page of this service has sent the form, in this browser. */
export function requireOwnForm(parts: FormParts, request: FastifyRequest, cookie: string | undefined): Fields {
  const fields = (request.body ?? {}) as Fields;
  if (cookie === undefined || !comesFromHere(parts, request)) throw formErrors.form_refused();
  const given = Buffer.from(fields[tokenField] ?? '', 'base64url');
  const isOurs = parts.secrets
    .hashes('forms', cookie)
    .some((hash) => hash.length === given.length && timingSafeEqual(hash, given));
  if (!isOurs) throw formErrors.form_refused();
  return fields;
}

export function requireVisitorForm(parts: FormParts, request: FastifyRequest): Fields {
  return requireOwnForm(parts, request, readCookie(parts, request, visitorCookie));
}

/**
 * The website as this browser knows it, for passkeys, which belong to a host name. Undefined where it is an address, such as 127.0.0.1:
 * browsers know no passkeys there.
 */
export function siteOf({ publicUrl }: FormParts, { headers }: FastifyRequest): Site | undefined {
  const own = new URL(publicUrl());
  const seen = own.protocol === 'http:' ? parseUrl(`http://${headers.host}`) : own;
  if (seen === undefined || isIP(seen.hostname.replace(/^\[(.*)\]$/, '$1')) !== 0) return undefined;
  return { origin: seen.origin, host: seen.hostname };
}

/** Browsers send the Origin of every form. A sandbox is reached as localhost and as 127.0.0.1, so its host may be the request's own. */
function comesFromHere({ publicUrl }: FormParts, { headers }: FastifyRequest): boolean {
  const { origin, host } = headers;
  const own = new URL(publicUrl());
  if (origin === own.origin) return true;
  return own.protocol === 'http:' && origin === `http://${host}`;
}
