// The OpenAPI document of the build, without a database: what the routes need to answer is not needed to describe them.
import { features } from '../dist/src/app/features.js';
import { eventsOf, gather } from '../dist/src/app/listed-feature.js';
import { readSettings } from '../dist/src/app/read-settings.js';
import { waysToPay } from '../dist/src/app/ways.js';
import { describeRoutes } from '../dist/src/kernel/http/openapi-route.js';

/** Stands for every part of the service: it can be read, called and constructed, and does nothing. */
const nothing = new Proxy(() => {}, {
  get: (_, name) => (name === Symbol.iterator ? () => [].values() : typeof name === 'symbol' ? undefined : nothing),
  apply: () => nothing,
});

/** As a sandbox on its usual port describes itself, because it has all that live mode has and more. */
export async function readInterface() {
  const { sandboxRoutes } = await import('../dist/sandbox/routes.js');
  const given = {
    sandbox: { routes: () => sandboxRoutes(nothing) },
    ways: waysToPay(nothing),
    events: eventsOf(features),
  };
  const parts = new Proxy(given, { get: (_, name) => given[name] ?? nothing });
  const config = readSettings({});
  const { document } = describeRoutes(
    gather(features, config, (feature, settings) => feature.routes?.(parts, settings)),
    gather(features, config, ({ chapters }) => chapters),
    () => 'http://127.0.0.1:8402',
  );
  return document();
}
