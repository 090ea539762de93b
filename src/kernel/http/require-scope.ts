import type { Caller, Route, Scope } from './define-route.ts';
import { httpErrors } from './errors.ts';

/** Refuses a key without the route's scope. Every route passes here; no other code checks scopes. */
export function requireScope({ scope, scopeOfKey }: Route['spec'], caller: Caller | undefined): void {
  const needed = scope ?? scopeOfKey;
  if (caller === undefined || needed === undefined || needed === 'any' || caller.scopes.includes(needed)) return;
  throw scopeRequired(needed);
}

export function scopeRequired(missing: Scope) {
  return httpErrors.scope_required(
    `This key lacks the scope \`${missing}\`. Use a key that has it, or sign in to get a key with all scopes.`,
    {
      members: { scope: missing },
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${missing}"` },
    },
  );
}
