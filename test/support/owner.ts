import type { TestAccount } from './client.ts';

interface Page {
  readonly status: number;
  readonly location: string | null;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser without a window: it keeps cookies, follows nothing, and sends forms as pages do. */
export interface OwnerBrowser {
  readonly cookies: ReadonlyMap<string, string>;
  get(path: string): Promise<Page>;
  /** Fills in the form at the action of the page that was opened last. */
  submit(
    action: string,
    fields?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Page>;
  signIn(account: Pick<TestAccount, 'email' | 'password'>): Promise<Page>;
}

const characters: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function fromEntities(value = ''): string {
  return value.replace(/&(amp|lt|gt|quot|#39);/g, (_all, name: string) => characters[name] ?? '');
}

export function openOwnerBrowser(
  url: string,
  userAgent = 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
): OwnerBrowser {
  const cookies = new Map<string, string>();
  let hidden: Readonly<Record<string, string>> = {};
  let at = `${url}/`;

  async function ask(path: string, init: RequestInit & { headers?: Readonly<Record<string, string>> }): Promise<Page> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${url}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { 'user-agent': userAgent, ...(cookie !== '' && { cookie }), ...init.headers },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    const found = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
    if (found.length > 0) hidden = Object.fromEntries(found.map(([, name, value]) => [name, fromEntities(value)]));
    return { status: response.status, location: response.headers.get('location'), headers: response.headers, text };
  }

  const browser: OwnerBrowser = {
    cookies,
    async get(path) {
      const page = await ask(path, {});
      if (page.status === 200) at = `${url}${path}`;
      return page;
    },
    submit: (action, fields = {}, headers = {}) =>
      ask(action, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url, referer: at, ...headers },
        body: new URLSearchParams({ ...hidden, ...fields }).toString(),
      }),
    async signIn({ email, password }) {
      await browser.get('/sign-in');
      return browser.submit('/sign-in', { email, password });
    },
  };
  return browser;
}
