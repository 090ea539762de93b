import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { recordAudit } from '../../accounts/audit/record.ts';
import {
  endAllSessions,
  endSession,
  findSession,
  lockForSessions,
  type OwnerSession,
} from '../../accounts/sessions/owner-session.ts';
import type { Database } from '../../kernel/db/database.ts';
import { refuseUnstorableText } from '../../kernel/http/parse-body.ts';
import type { Fields } from '../../kernel/http/parse-form.ts';
import type { Problem } from '../../kernel/http/problem.ts';
import { addressOf } from '../../kernel/http/request-guards.ts';
import { toProblem } from '../../kernel/http/send-problem.ts';
import { formPolicy } from '../content-policy.ts';
import { type Html, html, type Part } from '../html.ts';
import { layout, type PageContext, sayingPage, sendPrivate } from '../layout.ts';
import { type FormParts, formField, readCookie, requireOwnForm, setCookie } from './forms.ts';
import { cameFrom, whereTo } from './where-to.ts';

export interface ShellParts extends FormParts {
  readonly db: Database;
  readonly context: () => PageContext;
}

/** The places of the navigation, in its order. A page belongs to one of them. */
const places = [
  { path: '/app', label: 'Overview' },
  { path: '/app/approvals', label: 'Approvals' },
  { path: '/app/keys', label: 'Keys' },
  { path: '/app/devices', label: 'Devices' },
  { path: '/app/security', label: 'Security' },
] as const;

type Place = (typeof places)[number]['path'];

export interface OwnerPage {
  readonly title: string;
  /** Left out for a page that belongs to none. */
  readonly place?: Place;
  readonly body: Html;
  readonly scripts?: readonly string[];
  /** Another site that its form leads to. */
  readonly leadsTo?: string;
  /** Another than 200, such as of a form that is shown again with what is wrong. */
  readonly status?: number;
}

/** A signed-in request. */
export interface Visit {
  readonly session: OwnerSession;
  readonly request: FastifyRequest;
  /** Of the path, such as `id` in `/approve/:id`. Text that can be stored, and nothing more. */
  readonly params: Readonly<Record<string, string>>;
  readonly address: string;
  /** The hidden field of every form on the page. */
  readonly field: Html;
}

/** To another site. */
export interface Leaving {
  readonly leaveTo: string;
}

/** A page, or the path of the page to go to instead. */
type Answer = OwnerPage | Leaving | string;

interface Needs {
  /** The owner has entered the password within the last five minutes, or is asked for it first. Then nothing was changed. */
  readonly proof?: true;
}

/** Every page and every form of the signed-in owner goes through here. A path may have parameters, and lie outside /app. */
export interface Shell {
  /** A visitor without a session is sent to sign in, and then comes back. */
  page(path: string, render: (visit: Visit) => Promise<Answer>, needs?: Needs): void;
  /**
   * Changes something and answers where to go next, or the page again with what is wrong. Throws a problem to say why not. An owner
   * who is asked for the password first comes back to the page of the form.
   */
  form(path: string, change: (visit: Visit, fields: Fields) => Promise<Answer>, needs?: Needs): void;
}

export const sessionCookie = 'session';

export function createShell(app: FastifyInstance, parts: ShellParts): Shell {
  const { db, secrets, context } = parts;

  async function findVisit(request: FastifyRequest): Promise<Visit | undefined> {
    const token = readCookie(parts, request, sessionCookie);
    const session = token === undefined ? undefined : await findSession(db, secrets, token);
    if (token === undefined || session === undefined) return undefined;
    const params = request.params as Visit['params'];
    for (const value of Object.values(params)) refuseUnstorableText(value);
    return { session, request, params, address: addressOf(request), field: formField(parts, token) };
  }

  function answer(reply: FastifyReply, visit: Visit, given: Answer): FastifyReply {
    if (typeof given === 'string') return reply.redirect(`${context().base}${given}`, 303);
    if ('leaveTo' in given) return reply.redirect(given.leaveTo, 303);
    const page = ownerLayout(given, visit, context());
    return sendOwn(reply.code(given.status ?? 200), page, formPolicy(given.leadsTo));
  }

  function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const next = request.method === 'GET' ? `?next=${encodeURIComponent(request.url)}` : '';
    return reply.redirect(`${context().base}/sign-in${next}`, 303);
  }

  const pages: RegExp[] = [];

  /** The page of a form. The answer to a form is at its path, where there is no page: then it is the nearest one above. */
  function pageOf(path: string | undefined): string | undefined {
    const found = path === undefined || path === '' || pages.some((page) => page.test(path));
    return found ? path : pageOf(path.slice(0, path.lastIndexOf('/')));
  }

  function toConfirm(request: FastifyRequest): string {
    const next = request.method === 'GET' ? request.url : pageOf(cameFrom(request, context().base));
    return `/app/confirm?next=${encodeURIComponent(whereTo(next))}`;
  }

  return {
    page(path, render, { proof } = {}) {
      pages.push(new RegExp(`^${path.replaceAll(/:\w+/g, '[\\w-]+')}$`));
      app.get(path, async (request, reply) => {
        const visit = await findVisit(request);
        if (visit === undefined) return toSignIn(request, reply);
        const isAsked = proof === true && !visit.session.isProved;
        return answer(reply, visit, isAsked ? toConfirm(request) : await render(visit));
      });
    },
    form(path, change, { proof } = {}) {
      app.post(path, async (request, reply) => {
        const visit = await findVisit(request);
        if (visit === undefined) return toSignIn(request, reply);
        const fields = requireOwnForm(parts, request, readCookie(parts, request, sessionCookie));
        const isAsked = proof === true && !visit.session.isProved;
        return answer(reply, visit, isAsked ? toConfirm(request) : await change(visit, fields));
      });
    },
  };
}

/** Signs this browser out, or all of them. */
export function addSignOut(app: FastifyInstance, parts: ShellParts): void {
  const { db, secrets, context } = parts;
  app.post('/sign-out', async (request, reply) => {
    const token = readCookie(parts, request, sessionCookie);
    const fields = requireOwnForm(parts, request, token);
    const session = token === undefined ? undefined : await findSession(db, secrets, token);
    if (session !== undefined)
      await signOut(parts, session, { everywhere: fields['from'] === 'everywhere', address: addressOf(request) });
    setCookie(parts, reply, sessionCookie, '');
    return reply.redirect(`${context().base}/sign-in`, 303);
  });
}

async function signOut(
  { db }: ShellParts,
  session: OwnerSession,
  { everywhere, address }: { readonly everywhere: boolean; readonly address: string },
): Promise<void> {
  const { accountId } = session;
  await db.transaction(async (tx) => {
    await lockForSessions(tx, accountId);
    const sessions = everywhere ? await endAllSessions(tx, accountId) : Number(await endSession(tx, session));
    if (sessions > 0)
      await recordAudit(tx, { accountId, action: 'session.ended', by: { address }, details: { sessions } });
  });
}

/** Problems become pages. Our own faults stay with the handler that logs them. */
export function addProblemPages(app: FastifyInstance, context: () => PageContext): void {
  const send = (reply: FastifyReply, { status, title, message }: Pick<Problem, 'status' | 'title' | 'message'>) => {
    const text: Part = html`${message} <a href="${context().base}/app">Back to the overview</a>`;
    return sendOwn(reply.code(status), sayingPage({ ...frame, heading: title, text }, context()));
  };
  app.setErrorHandler(async (error, request, reply) => {
    const problem = toProblem(error);
    if (problem.status === 500) throw error;
    request.refusedWith = problem.code;
    return send(reply.headers(problem.extras.headers ?? {}), problem);
  });
  for (const path of ['/app/*', '/sign-out']) {
    app.get(path, async (_request, reply) =>
      send(reply, { status: 404, title: 'Page not found', message: 'There is no page at this address.' }),
    );
  }
}

const frame = { name: 'app', styles: ['forms.css', 'app.css'], plain: true } as const;

/** With `no-referrer`, which all other responses have, browsers leave the Origin out of forms. */
export function sendOwn(reply: FastifyReply, page: Html, policy = formPolicy()): FastifyReply {
  return sendPrivate(reply.header('Referrer-Policy', 'same-origin'), page, policy);
}

function ownerLayout(
  { title, place, body, scripts = [] }: OwnerPage,
  { session, field }: Visit,
  context: PageContext,
): Html {
  const { base } = context;
  const bar = html`<nav class="places" aria-label="Account">${places.map(
    ({ path, label }) => html`<a href="${base}${path}"${path === place && html` aria-current="page"`}>${label}</a>`,
  )}</nav>
<form class="sign-out" method="post" action="${base}/sign-out">${field}<button class="quiet">Sign out</button></form>`;
  const page = {
    ...frame,
    title: `${title} – ${session.name}`,
    description: title,
    unlisted: true,
    bar,
    scripts,
  } as const;
  return layout(
    {
      ...page,
      body: html`
<main id="main">
${body}
</main>`,
    },
    context,
  );
}
