import { describe, expect, it } from 'vitest';
import { jsonCode, shellCode } from './code.ts';

describe('code', () => {
  it('colours JSON by what each piece is', () => {
    const text = String(jsonCode({ amount: 1.5, note: 'a "b": 2', paid: null }));
    expect(text).toContain('<span class="key">&quot;amount&quot;</span>: <span class="value">1.5</span>');
    expect(text).toContain('<span class="text">&quot;a \\&quot;b\\&quot;: 2&quot;</span>');
    expect(text).toContain('<span class="value">null</span>');
  });

  it('shows exactly the code, whatever is in it', () => {
    const value = { '<k>': ['</script>', "it's", -3e-7, true, { deep: '&amp;' }] };
    expect(visibleText(String(jsonCode(value)))).toBe(JSON.stringify(value, null, 2));
    const command = `curl -X POST 'https://a.example/b?c=<d>' \\\n  -H "E: $F" -d 'it'\\''s'`;
    expect(visibleText(String(shellCode(command)))).toBe(command);
  });
});

function visibleText(markup: string): string {
  return markup
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
