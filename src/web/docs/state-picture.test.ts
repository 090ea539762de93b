import { describe, expect, it } from 'vitest';
import type { StatePicture } from '../../kernel/http/openapi.ts';
import { statePicture } from './docs-page.ts';

const picture: StatePicture = {
  caption: 'The way of a <letter>',
  way: [
    { state: 'written', meaning: 'It is in the `box`.', mayFail: true },
    { state: 'sent', meaning: 'It is on the train & safe.' },
    { state: 'read', meaning: 'It is read.' },
  ],
  failed: { state: 'lost', meaning: 'It is <gone>.' },
};

const stops = (markup: string) =>
  [...markup.matchAll(/<li class="([^"]*)">.*?<code>([^<]*)<\/code>/g)].map(([, kind, state]) => `${state}: ${kind}`);

describe('the picture of states', () => {
  it('has one stop for each state, in order, and the one for what fails at the end', () => {
    expect(stops(String(statePicture(picture)))).toEqual([
      'written: may-fail',
      'sent: certain',
      'read: certain',
      'lost: failed',
    ]);
  });

  it('says what each of them means, in text that cannot become markup', () => {
    const markup = String(statePicture(picture));
    expect(markup).toContain('<figcaption>The way of a &lt;letter&gt;</figcaption>');
    expect(markup).toContain('It is in the <code>box</code>.');
    expect(markup).toContain('It is on the train &amp; safe.');
    expect(markup).toContain('It is &lt;gone&gt;.');
  });
});
