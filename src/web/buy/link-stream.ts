import { z } from 'zod';
import type { Route } from '../../kernel/http/define-route.ts';
import { defineStream } from '../../kernel/http/define-stream.ts';
import type { FundingPageView } from '../../payments/funding/page-view.ts';
import { buyMain, titleOf } from './buy-page.ts';
import { announcement, progress } from './progress.ts';
import { type BuyView, phaseOf } from './view.ts';

/** Rendered markup, so that only the server knows how the page looks. */
const state = z.object({
  phase: z.enum(['paying', 'waiting', 'over']),
  title: z.string(),
  said: z.string(),
  progress: z.string(),
  main: z.string(),
});

/** The event stream of one open page. It is not an operation of the public API. */
export function linkStream(
  follow: (signal: AbortSignal) => AsyncIterable<FundingPageView>,
  viewOf: (link: FundingPageView) => BuyView,
): Route {
  return defineStream(
    {
      id: 'followFundingLink',
      path: '/buy/events',
      tag: 'Funding',
      summary: 'What becomes of a funding link',
      description: 'Until it is completed or has expired.',
      auth: 'none',
      events: { state: { description: 'What the page shows now', schema: state, example: {} } },
    },
    async () =>
      async function* tell(signal) {
        for await (const link of follow(signal)) {
          const view = viewOf(link);
          const phase = phaseOf(link);
          yield {
            event: 'state' as const,
            data: {
              phase,
              title: titleOf(view),
              said: announcement(view),
              progress: phase === 'over' ? '' : progress(view).toString(),
              main: buyMain(view).toString(),
            },
          };
          if (phase === 'over') return;
        }
      },
  );
}
