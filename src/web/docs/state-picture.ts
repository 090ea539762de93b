import type { StatePicture } from '../../kernel/http/openapi.ts';
import { type Html, html, prose } from '../html.ts';

/** States as a line with stops; a second line leads to the failed state. */
export function statePicture({ caption, way, failed }: StatePicture): Html {
  return html`
<figure class="states">
<figcaption>${caption}</figcaption>
<ol>
${way.map(({ state, meaning, mayFail }) => stop(mayFail ? 'may-fail' : 'certain', state, meaning))}
${stop('failed', failed.state, failed.meaning)}
</ol>
</figure>`;
}

function stop(kind: 'may-fail' | 'certain' | 'failed', state: string, meaning: string): Html {
  return html`<li class="${kind}"><span class="track"></span><p><code>${state}</code> ${prose(meaning)}</p></li>`;
}
