/** What a client elsewhere meets on its way to the gateway: asked without a login, through whatever proxy stands in between. */
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { networkWords } from '../../../server/contract/network-words.ts';
import { reachHeaders, reachPath } from '../../../server/contract/reach.ts';
import type { Context } from '../../context.ts';
import { type Finding, ok, wrong } from '../../parts/finding.ts';
import { type ProxyFault, type ProxyName, proxyLines, proxyOf } from '../../parts/proxy-lines.ts';

export interface OutsideOptions {
  /** Milliseconds for which an answer keeps silent; 0 = not tried. */
  readonly silentMs: number;
  /** Milliseconds between the pieces of a stream; 400 when absent. */
  readonly everyMs?: number;
  /** Whose lines are wanted; '' = what the answers say, else all. */
  readonly proxy: ProxyName | '';
}

/** What the server says of a request that arrived. */
interface Echo {
  readonly gateway?: unknown;
  readonly now: number;
  readonly once: string;
  readonly target: string;
  readonly host: string;
  readonly scheme: string;
  readonly headers: readonly string[];
  readonly bytes: number;
  readonly forwarded: 'none' | 'untrusted' | 'believed';
  readonly secure: boolean;
}

/** For answers that come at once. */
const quickMs = 15_000;
/** Above the defaults of proxies, below what a line of people takes too long for. */
const bodyBytes = 8 * 1024 * 1024;
const bodyMs = 60_000;
const pieces = 6;
const usualEveryMs = 400;
const maxSkewMs = 30_000;
const dayMs = 86_400_000;
const soonDays = 14;

/** An encoded slash and a query: names of models have both. */
const oddPath = '/a%2Fb?x=1%262';

/** Where an answer names another address. */
const redirects = new Set([301, 302, 303, 307, 308]);

function echoOf(text: string): Echo | null {
  try {
    const value = JSON.parse(text) as Echo;
    return value.gateway === true ? value : null;
  } catch {
    return null;
  }
}

/** One question after the other about one address. */
class Outside {
  #base: string;
  #proxy: ProxyName | '';
  /** Something stands in between, whatever it is called. */
  #isProxied = false;
  readonly #context: Context;

  constructor(context: Context, proxy: ProxyName | '') {
    this.#context = context;
    this.#base = context.url.replace(/\/+$/, '');
    this.#proxy = proxy;
  }

  get #url(): URL {
    return new URL(this.#base);
  }

  #say(zh: string, en: string): string {
    return this.#context.say(zh, en);
  }

  #wrong(check: string, result: 'warn' | 'fail', detail: string, fault: ProxyFault, name = ''): Finding {
    const lines = proxyLines(fault, this.#proxy, this.#say('删除', 'remove'));
    return wrong(check, result, detail, lines.join('\n').replaceAll('NAME', name));
  }

  /** Certificates are looked at on their own: nothing secret is sent. */
  #fetch(path: string, init: RequestInit = {}, timeoutMs = quickMs): Promise<Response> {
    return fetch(`${this.#base}${path}`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      tls: { rejectUnauthorized: false },
      ...init,
    } as RequestInit);
  }

  /** @returns null = what answered is no gateway. */
  async #echo(path: string, init?: RequestInit, timeoutMs?: number): Promise<Echo | null> {
    return echoOf(await (await this.#fetch(`${reachPath}${path}`, init, timeoutMs)).text());
  }

  /** The first answer decides whether there is anything to ask for. */
  async first(): Promise<{ readonly findings: readonly Finding[]; readonly goesOn: boolean }> {
    const sent = reachHeaders.filter((name) => name !== 'upgrade');
    const init = { headers: Object.fromEntries(sent.map((name) => [name, 'doctor'])) };
    const startedMs = Date.now();
    let response: Response;
    try {
      response = await this.#fetch(`${reachPath}${oddPath}`, init);
    } catch (error) {
      const { zh, en } = networkWords(error);
      const detail = `${this.#base}: ${this.#say(zh, en)}`;
      return { findings: [wrong('reach', 'fail', detail, 'gateway doctor')], goesOn: false };
    }
    const text = await response.text();
    const moved = this.#redirection(response);
    if (moved !== null) {
      this.#base = moved;
      const rest = await this.first();
      const detail = this.#say(
        `${response.status} 跳转到 ${moved}：程序的 POST 会丢失内容`,
        `HTTP ${response.status}, moved to ${moved}: programs lose the body of a POST`,
      );
      return {
        ...rest,
        findings: [wrong('redirect', 'warn', detail, `gateway doctor --url ${moved}`), ...rest.findings],
      };
    }
    if (this.#proxy === '') this.#proxy = proxyOf(response.headers);
    this.#isProxied = this.#proxy !== '' || this.#url.protocol === 'https:' || response.headers.has('via');
    const echo = echoOf(text);
    if (echo === null) return { findings: [await this.#stranger(response.status, text)], goesOn: false };
    const through = this.#proxy === '' ? '' : this.#say(`，经 ${this.#proxy}`, `, through ${this.#proxy}`);
    return {
      findings: [ok('reach', `${this.#base}${through}`), ...this.#told(echo, sent, (startedMs + Date.now()) / 2)],
      goesOn: true,
    };
  }

  /** @returns the address that a redirection means for all requests; null = it is none. */
  #redirection(response: Response): string | null {
    const location = response.headers.get('location');
    if (!redirects.has(response.status) || location === null || !URL.canParse(location, this.#base)) return null;
    const target = new URL(location, this.#base).href;
    const at = target.indexOf(reachPath);
    const base = at < 0 ? '' : target.slice(0, at);
    return base === '' || base === this.#base ? null : base;
  }

  /** Something answered, and it was no gateway that knows this question. */
  async #stranger(status: number, text: string): Promise<Finding> {
    if ([502, 503, 504].includes(status))
      return this.#wrong(
        'reach',
        'fail',
        this.#say(
          `代理有应答，但其后的网关没有：HTTP ${status}`,
          `the proxy answers, the gateway behind it does not: HTTP ${status}`,
        ),
        'answer',
      );
    const { pathname } = this.#url;
    if (pathname.length > 1 && text.includes('route_unknown')) {
      const detail = this.#say(`网关不知道路径 ${pathname}`, `the gateway does not know the path ${pathname}`);
      return wrong('path', 'fail', detail, `gateway serve --base-path ${pathname}`);
    }
    const older = await this.#fetch('/api/status').then(
      async (response) => /"success":\s*true/.test(await response.text()),
      () => false,
    );
    const detail = older
      ? this.#say(
          '是网关，但版本较旧，不回答这些问题',
          'it is a gateway, of a version that does not answer these questions',
        )
      : this.#say(`HTTP ${status}：应答的不是网关`, `HTTP ${status}: what answers is no gateway`);
    return older ? wrong('reach', 'fail', detail, 'gateway upgrade') : this.#wrong('reach', 'fail', detail, 'answer');
  }

  /** What one answer tells: path, headers, host, addresses, scheme, clock. */
  #told(echo: Echo, sent: readonly string[], atMs: number): readonly Finding[] {
    const found: Finding[] = [];
    const expected = `${reachPath}${oddPath}`;
    found.push(
      echo.target === expected
        ? ok('path', '')
        : this.#wrong(
            'path',
            'fail',
            this.#say(`发送 ${expected}，到达的是 ${echo.target}`, `sent ${expected}, arrived as ${echo.target}`),
            'path',
          ),
    );
    const lost = sent.filter((name) => !echo.headers.includes(name));
    const [first = ''] = lost;
    const onlyUnderscores = lost.every((name) => name.includes('_'));
    found.push(
      lost.length === 0
        ? ok('headers', '')
        : this.#wrong(
            'headers',
            onlyUnderscores ? 'warn' : 'fail',
            this.#say(`未到达：${lost.join('、')}`, `do not arrive: ${lost.join(', ')}`),
            onlyUnderscores ? 'underscores' : 'headers',
            onlyUnderscores ? '' : first,
          ),
    );
    const host = this.#url.host.toLowerCase();
    found.push(
      echo.host.toLowerCase() === host
        ? ok('host', host)
        : this.#wrong('host', 'warn', this.#say(`到达的是 ${echo.host}`, `arrives as ${echo.host}`), 'host'),
    );
    found.push(this.#address(echo));
    if (this.#url.protocol === 'https:')
      found.push(
        echo.scheme.split(',')[0]?.trim() === 'https'
          ? ok('scheme', 'https')
          : this.#wrong(
              'scheme',
              'warn',
              this.#say('没有收到 X-Forwarded-Proto: https', 'X-Forwarded-Proto: https does not arrive'),
              'scheme',
            ),
      );
    const skewMs = echo.now - atMs;
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    found.push(
      Math.abs(skewMs) <= maxSkewMs
        ? ok('clock', '')
        : wrong(
            'clock',
            'warn',
            skewMs > 0
              ? this.#say(`服务器比本机快 ${seconds} 秒`, `the server is ${seconds} s ahead of this machine`)
              : this.#say(`服务器比本机慢 ${seconds} 秒`, `the server is ${seconds} s behind this machine`),
            'timedatectl set-ntp true',
          ),
    );
    return found;
  }

  #address({ forwarded }: Echo): Finding {
    if (forwarded === 'untrusted')
      return wrong(
        'client address',
        'warn',
        this.#say(
          '代理写了 X-Forwarded-For，但它不是受信任的代理：所有客户端被视为同一地址',
          'the proxy writes X-Forwarded-For and is not trusted: all clients count as one address',
        ),
        'gateway option set general_setting.trusted_proxies=ADDRESS_OF_THE_PROXY',
      );
    if (forwarded === 'believed' || !this.#isProxied) return ok('client address', '');
    const words = this.#say(
      '没有收到 X-Forwarded-For：所有客户端被视为同一地址',
      'X-Forwarded-For does not arrive: all clients count as one address',
    );
    return this.#wrong('client address', 'warn', words, 'address');
  }

  async cache(): Promise<Finding> {
    const [one, other] = [await this.#echo('/same'), await this.#echo('/same')];
    return one !== null && one.once === other?.once
      ? this.#wrong('cache', 'fail', this.#say('两次请求得到同一个应答', 'two requests got one answer'), 'cache')
      : ok('cache', '');
  }

  /** What refuses a request must be the gateway: programs read its JSON. */
  async errors(): Promise<Finding> {
    const response = await this.#fetch('/v1/models', { headers: { authorization: 'Bearer sk-doctor' } });
    const text = await response.text();
    const detail = this.#say(
      `HTTP ${response.status} 的内容被换掉：程序读不到错误`,
      `the body of HTTP ${response.status} is replaced: programs cannot read the error`,
    );
    return response.status === 401 && /^\s*\{/.test(text) && text.includes('"error"')
      ? ok('errors', '')
      : this.#wrong('errors', 'fail', detail, 'errors');
  }

  async methods(): Promise<Finding> {
    const names = ['PUT', 'PATCH', 'DELETE'];
    const echoes = await Promise.all(names.map((method) => this.#echo('', { method })));
    const refused = names.filter((_name, at) => echoes[at] === null);
    return refused.length === 0
      ? ok('methods', '')
      : this.#wrong(
          'methods',
          'fail',
          this.#say(`被拒绝：${refused.join('、')}`, `refused: ${refused.join(', ')}`),
          'methods',
        );
  }

  async body(): Promise<Finding> {
    const megabytes = bodyBytes / 1024 / 1024;
    const init = {
      method: 'POST',
      body: new Uint8Array(bodyBytes),
      headers: { 'content-type': 'application/octet-stream' },
    };
    const said = await this.#fetch(reachPath, init, bodyMs).then(
      async (response) => ({ status: String(response.status), echo: echoOf(await response.text()) }),
      (error: unknown) => {
        const { zh, en } = networkWords(error);
        return { status: this.#say(zh, en), echo: null };
      },
    );
    if (said.echo?.bytes === bodyBytes) return ok('body size', `${megabytes} MB`);
    const detail = this.#say(
      `${megabytes} MB 的请求被拒绝：${said.status}`,
      `a request of ${megabytes} MB is refused: ${said.status}`,
    );
    return this.#wrong('body size', 'fail', detail, 'body');
  }

  /** When each piece of a stream comes, and in which form. */
  async stream(everyMs: number): Promise<readonly Finding[]> {
    const response = await this.#fetch(`${reachPath}?pieces=${pieces}&every=${everyMs}`, {
      headers: { 'accept-encoding': 'gzip', accept: 'text/event-stream' },
      ...({ decompress: false } as object),
    });
    const came: number[] = [];
    for await (const _piece of response.body ?? []) came.push(performance.now());
    // Those that came in half the time came together.
    const togetherMs = ((pieces - 1) * everyMs) / 2;
    const spread = (came.at(-1) ?? 0) - (came[0] ?? 0);
    const encoding = response.headers.get('content-encoding') ?? '';
    return [
      response.ok && spread >= togetherMs
        ? ok('streams', this.#say(`${pieces} 片逐一到达`, `pieces came as they were sent: ${pieces}`))
        : this.#wrong(
            'streams',
            'fail',
            response.ok
              ? this.#say('流被攒在一起才到达', 'a stream is held back and comes in one piece')
              : `HTTP ${response.status}`,
            'buffering',
          ),
      encoding === '' || encoding === 'identity'
        ? ok('compression', '')
        : this.#wrong(
            'compression',
            'warn',
            this.#say(`流被压缩：${encoding}`, `streams are compressed: ${encoding}`),
            'compression',
          ),
    ];
  }

  async silence(ms: number): Promise<Finding> {
    const startedMs = performance.now();
    const status = await this.#fetch(`${reachPath}?silent=${ms}`, {}, ms + quickMs).then(
      async (response) => (echoOf(await response.text()) === null ? `HTTP ${response.status}` : ''),
      (error: unknown) => {
        const { zh, en } = networkWords(error);
        return this.#say(zh, en);
      },
    );
    const seconds = (of: number): number => Math.round(of / 1000);
    if (status === '') return ok('silence', `${seconds(ms)} s`);
    const after = seconds(performance.now() - startedMs);
    const detail = this.#say(
      `静默 ${after} 秒后被切断：${status}`,
      `an answer is cut off after ${after} s of silence: ${status}`,
    );
    return this.#wrong('silence', 'fail', detail, 'silence');
  }

  /** Whether a conversation over a socket could begin: the header that asks for it must arrive. */
  async sockets(): Promise<Finding> {
    const { host, hostname, pathname } = this.#url;
    const path = `${pathname.replace(/\/$/, '')}${reachPath}`;
    const asked = [
      `GET ${path} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    ];
    const text = await exchange(await this.#connect(hostname), `${asked.join('\r\n')}\r\n\r\n`);
    return /"upgrade"/.test(text)
      ? ok('sockets', '')
      : this.#wrong(
          'sockets',
          'warn',
          this.#say('Upgrade 未到达：实时对话无法建立', 'Upgrade does not arrive: realtime conversations cannot begin'),
          'sockets',
        );
  }

  #connect(hostname: string): Promise<Socket | TLSSocket> {
    const { protocol, port } = this.#url;
    const isSecure = protocol === 'https:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const at = { host, port: Number(port === '' ? (isSecure ? 443 : 80) : port) };
    return new Promise((resolve, reject) => {
      const socket: Socket | TLSSocket = isSecure
        ? connectTls({ ...at, servername: host, rejectUnauthorized: false }, () => resolve(socket))
        : connectPlain(at, () => resolve(socket));
      socket.setTimeout(quickMs, () => socket.destroy(new Error('Timeout')));
      socket.once('error', reject);
    });
  }

  async tls(): Promise<Finding> {
    if (this.#url.protocol !== 'https:') {
      const isNear = /^(localhost|127\.|\[::1\])/.test(this.#url.hostname);
      return isNear
        ? ok('tls', this.#say('本机', 'this machine'))
        : this.#wrong(
            'tls',
            'warn',
            this.#say('没有加密：密钥可被读到', 'nothing is encrypted: keys can be read on the way'),
            'plain',
          );
    }
    const socket = (await this.#connect(this.#url.hostname)) as TLSSocket;
    const { authorized, authorizationError } = socket;
    const { valid_to: end } = socket.getPeerCertificate();
    socket.destroy();
    const days = Math.floor((Date.parse(end) - Date.now()) / dayMs);
    if (!authorized) return this.#wrong('tls', 'fail', String(authorizationError), 'chain');
    if (days < soonDays)
      return wrong(
        'tls',
        'warn',
        this.#say(`证书还剩 ${days} 天`, `the certificate ends in ${days} days`),
        'certbot renew',
      );
    return ok('tls', this.#say(`证书还剩 ${days} 天`, `the certificate ends in ${days} days`));
  }

  /** Behind an address with TLS the same name may answer without it. */
  async plain(): Promise<readonly Finding[]> {
    const { protocol, port, hostname, pathname } = this.#url;
    if (protocol !== 'https:' || port !== '') return [];
    const address = `http://${hostname}${pathname.replace(/\/$/, '')}${reachPath}`;
    const text = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(quickMs) }).then(
      (response) => response.text(),
      () => '',
    );
    return echoOf(text) === null
      ? []
      : [
          this.#wrong(
            'plain http',
            'warn',
            this.#say('未加密的地址也能使用', 'the address works without TLS, too'),
            'plain',
          ),
        ];
  }
}

/** @returns what came until the other side had answered. */
function exchange(socket: Socket | TLSSocket, request: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  const end = (): void => {
    socket.destroy();
    resolve(text);
  };
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    const body = text.indexOf('\r\n\r\n');
    if ((body >= 0 && text.includes('}', body)) || text.startsWith('HTTP/1.1 101')) end();
  });
  socket.on('close', end);
  socket.on('error', end);
  socket.write(request);
  return promise;
}

/** @returns findings in the order of the questions, whatever order they were answered in. */
export async function lookFromOutside(
  context: Context,
  { silentMs, proxy, everyMs = usualEveryMs }: OutsideOptions,
): Promise<readonly Finding[]> {
  const outside = new Outside(context, proxy);
  const { findings, goesOn } = await outside.first();
  if (!goesOn) return findings;
  const settled = async (check: string, work: Promise<Finding | readonly Finding[]>): Promise<readonly Finding[]> => {
    try {
      return [await work].flat();
    } catch (error) {
      const { zh, en } = networkWords(error);
      return [wrong(check, 'fail', context.say(zh, en), '')];
    }
  };
  const rest = await Promise.all([
    settled('tls', outside.tls()),
    settled('plain http', outside.plain()),
    settled('errors', outside.errors()),
    settled('cache', outside.cache()),
    settled('methods', outside.methods()),
    settled('sockets', outside.sockets()),
    settled('streams', outside.stream(everyMs)),
    settled('body size', outside.body()),
    settled('silence', silentMs > 0 ? outside.silence(silentMs) : Promise.resolve([])),
  ]);
  return [...findings, ...rest.flat()];
}
