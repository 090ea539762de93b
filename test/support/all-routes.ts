import { type SandboxParts, sandboxRoutes } from '../../sandbox/routes.ts';
import { features } from '../../src/app/features.ts';
import { eventsOf, gather, type ListedFeature } from '../../src/app/listed-feature.ts';
import { readSettings } from '../../src/app/read-settings.ts';
import type { Route } from '../../src/kernel/http/define-route.ts';

/** The routes of every feature as they are declared, without a database or a server: none of them can be called. */
export function declaredRoutes(): readonly Route[] {
  const config = readSettings({ DATABASE_URL: 'postgres://nowhere.invalid/none' }, features);
  const sandbox = { routes: () => sandboxRoutes(standIn({}) as SandboxParts) };
  const parts = standIn({ events: eventsOf(features), sandbox }) as Parameters<NonNullable<ListedFeature['routes']>>[0];
  return gather(features, config, (feature, settings) => feature.routes?.(parts, settings));
}

/** Stands in for every part: whatever is read of it or called is the same again, except for what is known. */
function standIn(known: Readonly<Record<PropertyKey, unknown>>): unknown {
  const one: unknown = new Proxy(() => one, {
    get: (_target, name) => {
      if (name in known) return known[name];
      if (name === Symbol.iterator) return [][Symbol.iterator];
      return name === 'then' ? undefined : one;
    },
    apply: () => one,
  });
  return one;
}
