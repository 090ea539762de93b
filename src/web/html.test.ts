import { describe, expect, it } from 'vitest';
import { html, prose, separated } from './html.ts';

describe('the html template', () => {
  it('escapes what is interpolated, as text and inside a quoted attribute', () => {
    const hostile = `"><script>alert('1')</script>&`;
    const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;';
    expect(String(html`<p title="${hostile}">${hostile}</p>`)).toBe(`<p title="${escaped}">${escaped}</p>`);
  });

  it('keeps markup that it made itself, however deep, and escapes it only once', () => {
    const inner = html`<b>${'a & b'}</b>`;
    expect(String(html`<p>${[inner, [inner, '<']]}</p>`)).toBe('<p><b>a &amp; b</b><b>a &amp; b</b>&lt;</p>');
  });

  it('leaves nothing for nothing, and writes zero', () => {
    expect(String(html`[${undefined}${null}${false}${''}${0}]`)).toBe('[0]');
  });

  it('does not take an object that looks like markup for markup', () => {
    const forged = ['<i>'] as unknown as string;
    expect(String(html`${forged}`)).toBe('&lt;i&gt;');
  });
});

describe('prose', () => {
  it('sets code apart and escapes both sides', () => {
    expect(String(prose('Send `<code>` & wait'))).toBe('Send <code>&lt;code&gt;</code> &amp; wait');
  });

  it('leaves a lone backtick alone', () => {
    expect(String(prose('a ` b'))).toBe('a ` b');
  });
});

describe('separated', () => {
  it('puts a dot between items and none around them', () => {
    expect(String(separated([html`a`, html`b`]))).toBe('a <span class="dot">·</span> b');
    expect(String(separated([]))).toBe('');
  });
});
