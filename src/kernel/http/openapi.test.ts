import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoute, ok } from './define-route.ts';
import { listRoute } from './list-route.ts';
import { buildOpenApi } from './openapi.ts';
import { reads } from './tool.ts';

it('shows the tool of a route as x-tool, and none elsewhere', () => {
  const tool = { name: 'look', title: 'Look', hints: reads };
  const facts = { tag: 'Things', summary: 'Look' };
  const returns = { 200: { description: 'Seen', schema: z.object({}), example: {} } };
  const routes = [
    defineRoute({ ...facts, id: 'look', method: 'GET', path: '/look', auth: 'none', returns, tool }, async () =>
      ok({}),
    ),
    defineRoute({ ...facts, id: 'other', method: 'GET', path: '/other', auth: 'none', returns }, async () => ok({})),
    listRoute({
      ...facts,
      id: 'list',
      path: '/list',
      name: 'things',
      item: z.object({}),
      example: {},
      tool: { ...tool, name: 'list' },
      rows: async () => [],
      cursorOf: () => '',
      describe: () => ({}),
    }),
  ];
  const { paths } = buildOpenApi(routes, 'https://pay.example.com', []);
  expect(paths['/look']?.['get']?.['x-tool']).toEqual({
    name: 'look',
    title: 'Look',
    hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  });
  expect(paths['/other']?.['get']).not.toHaveProperty('x-tool');
  expect(paths['/list']?.['get']?.['x-tool']).toMatchObject({ name: 'list' });
});
