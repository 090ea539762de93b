import type { Feature } from '../kernel/feature.ts';
import type { OpenApiDocument } from '../kernel/http/openapi.ts';
import type { Mode } from '../kernel/settings.ts';
import { renderMachineDocs } from '../web/docs/machine-docs.ts';
import { addMcpEndpoint } from './endpoint.ts';
import type { InProcessParts } from './in-process.ts';
import { prompts } from './prompts.ts';
import { createResources } from './resources.ts';
import type { ServerParts } from './server.ts';
import { createToolbox } from './toolbox.ts';

export interface McpParts extends InProcessParts {
  readonly mode: Mode;
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal;
  readonly document: () => OpenApiDocument;
}

export const mcp: Feature<{ pages: McpParts }> = {
  name: 'mcp',
  pages(app, parts) {
    let built: ServerParts | undefined;
    addMcpEndpoint(app, {
      ...parts,
      serverParts() {
        built ??= serverPartsOf(parts);
        return built;
      },
    });
  },
};

/** Made at the first request, because the public URL is known only once the service listens. */
export function serverPartsOf({ document, publicUrl, mode, stopping }: McpParts): ServerParts {
  let texts: ReturnType<typeof renderMachineDocs> | undefined;
  return {
    version: document().info.version,
    toolbox: createToolbox(document(), stopping),
    resources: createResources(async () => {
      texts ??= renderMachineDocs(document(), { base: publicUrl(), mode });
      return (await texts).get('/docs.md') ?? '';
    }),
    prompts,
  };
}
