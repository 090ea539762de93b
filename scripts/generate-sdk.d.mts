import type { OpenApiDocument } from '../src/kernel/http/openapi.ts';

export function generateSdk(document: OpenApiDocument): Record<'operations.js' | 'operations.d.ts', string>;
