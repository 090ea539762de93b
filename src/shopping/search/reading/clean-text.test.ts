import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanText } from './clean-text.ts';

describe('text from a stranger', () => {
  it.each([
    ['Blue  Mug', 'Blue Mug'],
    ['<b>Blue</b> Mug', 'Blue Mug'],
    ['Caf&eacute; &amp; Bar', 'Café & Bar'],
    ['Salt &#8217;n&#8217; Pepper', 'Salt ’n’ Pepper'],
    ['Mug<script>alert(1)</script>', 'Mug'],
    ['Mug&lt;script&gt;alert(1)&lt;/script&gt;', 'Mug'],
    ['Mug &amp;lt;img src=x onerror=alert(1)&amp;gt;', 'Mug'],
    ['<img src=x onerror=alert(1)>Mug', 'Mug'],
    ['First<br>second', 'First second'],
    ['Screw 5 < 6 mm', 'Screw 5 < 6 mm'],
    ['Mug <unclosed', 'Mug'],
    ['a\u202eb\u200bc\u00ad\ufeff', 'abc'],
    ['\u{e0041}\u{e0042}Mug\u{e007f}', 'Mug'],
    ['Mug\u0000\u001b[31m', 'Mug[31m'],
    ['x\ufe00\ufe01\u{e0101}y', 'xy'],
    ['\u3164\u115fMug\u2800', 'Mug'],
    ['\u{13441}Mug\u{1d159}', 'Mug'],
    [`Z${'\u0301'.repeat(50)}`, 'Ź\u0301\u0301\u0301\u0301'],
    ['line\nbreak\u2028here', 'line break here'],
  ])('%j', (text, clean) => {
    expect(cleanText(text, 100)).toBe(clean);
  });

  it.each(['', '   ', '\u200b', '<p></p>', 7, null, undefined, {}, ['x']])('is none: %j', (value) => {
    expect(cleanText(value, 100)).toBeUndefined();
  });

  it('is cut by whole characters', () => {
    expect(cleanText('🎁'.repeat(50), 10)).toBe(`${'🎁'.repeat(9)}…`);
    expect(cleanText('x'.repeat(1_000_000), 200)).toHaveLength(200);
  });

  it('holds no markup and nothing hidden, whatever it was made of', () => {
    const pieces = fc.array(
      fc.constantFrom(
        '<',
        '>',
        '&lt;',
        '&amp;',
        'script',
        '</',
        'b',
        '"',
        "'",
        '\u202e',
        '\u200d',
        '&#60;',
        ' ',
        '!--',
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        const clean = cleanText(parts.join(''), 80) ?? '';
        expect(clean).not.toMatch(/<[\p{L}/!?]/u);
        expect(clean).not.toMatch(/[\p{Cc}\p{Cf}]/u);
        expect(Array.from(clean).length).toBeLessThanOrEqual(80);
      }),
    );
  });
});
