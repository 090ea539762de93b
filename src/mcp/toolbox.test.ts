import { expect, test } from 'vitest';
import { declaredRoutes } from '../../test/support/all-routes.ts';
import { scopes } from '../kernel/http/define-route.ts';
import { buildOpenApi } from '../kernel/http/openapi.ts';
import { createToolbox } from './toolbox.ts';

const routes = declaredRoutes()
  .filter(({ spec }) => spec.tool !== undefined)
  .map((route) => ({ ...route, spec: { ...route.spec, errors: [] } }));
const tools = createToolbox(buildOpenApi(routes, 'https://pay.example.com', []), new AbortController().signal).list(
  scopes,
);

test('the list of all tools is short enough to be in every prompt', () => {
  expect(JSON.stringify(tools).length).toBeLessThanOrEqual(24 * 1024);
});
