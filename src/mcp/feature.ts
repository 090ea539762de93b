import type { Feature } from '../kernel/feature.ts';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import { addMcpEndpoint } from './endpoint.ts';
import type { InProcessParts } from './in-process.ts';
import type { ServerParts } from './server.ts';
import { createToolbox } from './toolbox.ts';

interface McpParts extends InProcessParts {
  readonly document: () => OpenApiDocument;
}

export const mcp: Feature<{ pages: McpParts }> = {
  name: 'mcp',
  pages(app, parts) {
    let built: ServerParts | undefined;
    const serverParts = () => {
      built ??= serverPartsOf(parts.document());
      return built;
    };
    addMcpEndpoint(app, { ...parts, serverParts });
  },
};

export function serverPartsOf(document: OpenApiDocument): ServerParts {
  return {
    version: document.info.version,
    toolbox: createToolbox(document),
    reader: { reference: () => document.info.description },
  };
}
