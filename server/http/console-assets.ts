/** Serves the console: hashed files for ever, the page itself fresh each time, every other path the page. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import { documentPage, isConsolePage } from '../contract/console-pages.ts';
import { languageNamed } from '../contract/language.ts';
import { consoleFiles, type EmbeddedFile } from '../embedded/console-files.ts';

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly immutable: boolean;
  readonly plain: () => Uint8Array<ArrayBuffer>;
  /** Best first. */
  readonly compressed: readonly { readonly encoding: string; readonly bytes: () => Uint8Array<ArrayBuffer> }[];
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  webmanifest: 'application/manifest+json',
};

/** No inline script, no eval, nothing from elsewhere; styles are set by components, hence unsafe-inline for styles alone. */
const policy = (scripts: string, forms: string): string =>
  `default-src 'self'; script-src 'self'${scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: https:; connect-src 'self'; frame-src https:; object-src 'none'; base-uri 'none'; form-action 'self' https:${forms}; frame-ancestors 'none'`;
const botCheckScripts = ' https://challenges.cloudflare.com';
/** A payment gateway without TLS is the operator's own choice; nothing else may be sent to one. */
const formsTo = (payAddress: string): string =>
  /^http:/i.test(payAddress) && URL.canParse(payAddress) ? ` ${new URL(payAddress).origin}` : '';

const once = <T>(make: () => T): (() => T) => {
  let value: { readonly made: T } | null = null;
  return () => {
    value ??= { made: make() };
    return value.made;
  };
};

const bytesOf = (file: string): Uint8Array<ArrayBuffer> => new Uint8Array(readFileSync(file));

/** Pages name files and each other from the root. Scripts load what they need from beside themselves, and read the path from the page. */
function pageUnder(basePath: string, page: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(page)
    .toString('utf8')
    .replace(/\b(href|src)="\/(?!\/)/g, `$1="${basePath}/`)
    .replace(/<head>/, `$&<meta name="base-path" content="${basePath}" />`);
  return new Uint8Array(Buffer.from(text));
}

function load(embedded: readonly EmbeddedFile[] | null, basePath: string): Map<string, Asset> {
  const files = embedded ?? fromDisk(join(import.meta.dirname, '../../web/dist'));
  return new Map(
    files.map(({ path, plain, brotli }) => {
      const isMoved = basePath !== '' && path.endsWith('.html');
      const packed = brotli === null || isMoved ? null : once(() => bytesOf(brotli));
      const built = once(() =>
        brotli === null ? bytesOf(plain ?? '') : new Uint8Array(brotliDecompressSync(bytesOf(brotli))),
      );
      const body = isMoved ? once(() => pageUnder(basePath, built())) : built;
      return [
        path,
        {
          type: types[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
          etag: `"${createHash('sha256')
            .update(path.startsWith('/assets/') ? path : body())
            .digest('hex')
            .slice(0, 20)}"`,
          immutable: path.startsWith('/assets/'),
          plain: body,
          compressed:
            packed === null
              ? []
              : [
                  { encoding: 'br', bytes: packed },
                  // Browsers offer brotli over TLS alone.
                  { encoding: 'gzip', bytes: once(() => new Uint8Array(gzipSync(body()))) },
                ],
        },
      ];
    }),
  );
}

/** Whether an Accept-Encoding header names the encoding without refusing it (`q=0`). */
const accepts = (header: string, encoding: string): boolean =>
  header.split(',').some((part) => {
    const [name, weight] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    return name === encoding && !/^q=0(\.0*)?$/.test(weight ?? '');
  });

function fromDisk(root: string): EmbeddedFile[] {
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return { path: file.slice(root.length), plain: file, brotli: null };
    });
}

/** A browser that goes somewhere says so; what asks for anything is a program, and takes a page for an answer. */
const wantsPage = (request: Request): boolean => (request.headers.get('accept') ?? '').includes('text/html');

/** Names of files: who asks for one that is not there wants no page. */
const fileName = /\.(js|mjs|css|map|json|png|jpe?g|gif|svg|ico|webp|txt|xml|webmanifest|woff2?)$/i;

export interface ConsoleInfo {
  /** Whether the sign-in pages load one from elsewhere. */
  readonly botCheck: boolean;
  /** Where forms of payments go, '' = nowhere. */
  readonly payAddress: string;
}

/**
 * @param basePath under which a proxy serves the site, '' = none.
 * @param embedded null = the files of the last build on disk.
 * @returns null when there is no console in this build, the method is not a read, or a program asks for what is no page.
 */
export function createConsoleAssets(
  details: () => ConsoleInfo,
  basePath = '',
  embedded: readonly EmbeddedFile[] | null = consoleFiles,
): (request: Request, path: string) => Response | null {
  const assets = once(() => load(embedded, basePath));
  /** Its pages are files; an address names them without `.html`. */
  const documentation = (request: Request, path: string): Response | null => {
    const [, language, page] = /^\/docs\/(en|zh)(?:\/([a-z-]+(?:\.json)?))?\/?$/.exec(path) ?? [];
    if (language === undefined) {
      const requested = languageNamed(request.headers.get('accept-language')) ?? 'en';
      return new Response(null, {
        status: 302,
        headers: { location: `${basePath}/docs/${requested}`, vary: 'accept-language' },
      });
    }
    const file = page?.endsWith('.json') ? page : `${page ?? 'index'}.html`;
    const found = assets().get(`/docs/${language}/${file}`);
    const asset = found ?? assets().get(`/docs/${language}/missing.html`);
    return asset === undefined ? null : answer(request, asset, found === undefined ? 404 : 200);
  };
  const answer = (request: Request, asset: Asset, status: number, path = ''): Response => {
    const { botCheck, payAddress } = details();
    const headers = new Headers({
      'content-type': asset.type,
      etag: asset.etag,
      'cache-control': asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
      'content-security-policy': policy(botCheck ? botCheckScripts : '', formsTo(payAddress)),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      vary: 'accept-encoding',
    });
    // Who was given a link did not publish it.
    if (path === documentPage) headers.set('x-robots-tag', 'noindex, nofollow');
    if (request.headers.get('if-none-match') === asset.etag) return new Response(null, { status: 304, headers });
    const accepted = request.headers.get('accept-encoding') ?? '';
    const compressed = asset.compressed.find(({ encoding }) => accepts(accepted, encoding));
    if (compressed !== undefined) headers.set('content-encoding', compressed.encoding);
    return new Response(compressed === undefined ? asset.plain() : compressed.bytes(), { status, headers });
  };
  return (request, path) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return null;
    if (path === '/docs' || path.startsWith('/docs/')) return documentation(request, path);
    const found = assets().get(path);
    if (found === undefined && (path.startsWith('/assets/') || fileName.test(path)))
      return new Response('Not found', { status: 404 });
    if (found === undefined && !isConsolePage(path) && !wantsPage(request)) return null;
    const asset = found ?? assets().get('/index.html');
    return asset === undefined ? null : answer(request, asset, 200, path);
  };
}
