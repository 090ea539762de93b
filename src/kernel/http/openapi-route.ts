import { z } from 'zod';
import { defineRoute, ok, type Route } from './define-route.ts';
import { buildOpenApi, type Chapter, type OpenApiDocument } from './openapi.ts';

/** Adds the operation that returns the OpenAPI document. The document includes it, and is built on first use. */
export function describeRoutes(
  routes: readonly Route[],
  chapters: readonly Chapter[],
  publicUrl: () => string,
): { readonly all: readonly Route[]; readonly document: () => OpenApiDocument } {
  let built: OpenApiDocument | undefined;
  const document = () => {
    built ??= buildOpenApi(all, publicUrl(), chapters);
    return built;
  };
  const openApi = defineRoute(
    {
      id: 'getOpenApi',
      method: 'GET',
      path: '/openapi.json',
      tag: 'Service',
      summary: 'Retrieve the OpenAPI 3.1 document',
      auth: 'none',
      returns: {
        200: {
          description: 'The OpenAPI document',
          schema: z.looseObject({
            openapi: z.string(),
            info: z.looseObject({ title: z.string(), version: z.string() }),
          }),
          example: { openapi: '3.1.0', info: { title: 'Paywright', version: '3.0.0' } },
        },
      },
    },
    async () => ok(document()),
  );
  const all = [...routes, openApi];
  return { all, document };
}
