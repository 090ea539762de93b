import type { OpenApiDocument } from '../src/kernel/http/openapi.ts';

export function readInterface(): Promise<OpenApiDocument>;
