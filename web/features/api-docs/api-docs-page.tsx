/** The HTTP API, browsable, from the same document that machines read. */

import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { basePath } from '../../lib/base-path.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useRead } from '../../lib/read.ts';
import { useUrl } from '../../lib/url.ts';

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly 'x-access': 'public' | 'key' | 'user' | 'admin' | 'root';
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: unknown }>> };
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }>
  >;
}

interface Row extends Operation {
  readonly method: string;
  readonly path: string;
}

function rowsOf(document: unknown): readonly Row[] {
  const { paths } = document as { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/** What the groups of calls are called, by their tags. */
const titlesIn = (document: unknown): ReadonlyMap<string, string> =>
  new Map(
    (document as { readonly tags?: readonly { readonly name: string; readonly 'x-displayName'?: string }[] }).tags?.map(
      (tag) => [tag.name, tag['x-displayName'] ?? tag.name],
    ),
  );

interface Body {
  readonly schema?: unknown;
  readonly example?: unknown;
}

const bodyIn = (content: Readonly<Record<string, Body>> | undefined): Body => Object.values(content ?? {})[0] ?? {};

const schemaText = (content: Readonly<Record<string, { readonly schema: unknown }>> | undefined): string =>
  JSON.stringify(bodyIn(content).schema ?? {}, null, 2);

function Call({ row }: { readonly row: Row }) {
  const { t } = useTranslation();
  return (
    <details className="border-b border-line last:border-0">
      <summary className="grid min-h-9 cursor-pointer grid-cols-[3.5rem_minmax(0,2fr)_minmax(0,3fr)_auto] items-center gap-3 px-4 py-1.5 hover:bg-hover max-lg:grid-cols-[3.5rem_minmax(0,1fr)_auto] max-lg:items-baseline max-lg:gap-x-2 max-lg:gap-y-0.5 max-lg:py-2">
        <span
          className={`font-mono text-[12px] font-semibold ${row.method === 'GET' ? 'text-accent-text' : row.method === 'DELETE' ? 'text-danger' : 'text-warning'}`}
        >
          {row.method}
        </span>
        <code className="font-mono text-[12px] wrap-anywhere">
          {row.path.split(/(?=\/)/).map((part, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one path stay where they are
            <Fragment key={at}>
              <wbr />
              {part}
            </Fragment>
          ))}
        </code>
        <span className="text-ink-2 max-lg:order-1 max-lg:col-span-2 max-lg:col-start-2">{row.summary}</span>
        <span className="min-w-16 text-right text-[11px] text-ink-3">{t(`apiDocs.${row['x-access']}`)}</span>
      </summary>
      <div className="grid gap-3 bg-sunken px-4 py-3 text-[12px]">
        {row.parameters.length === 0 ? null : (
          <p>
            <span className="text-ink-3">{t('apiDocs.parameters')}</span>{' '}
            {row.parameters.map(({ name, required }) => `${name}${required ? '*' : ''}`).join(', ')}
          </p>
        )}
        {row.requestBody === undefined ? null : (
          <>
            <Example content={row.requestBody.content} />
            <p className="text-ink-3">{t('apiDocs.body')}</p>
            <pre className="max-h-72 overflow-auto font-mono">{schemaText(row.requestBody.content)}</pre>
          </>
        )}
        <Example content={row.responses['200']?.content} />
        <p className="text-ink-3">{t('apiDocs.answer')}</p>
        <pre className="max-h-72 overflow-auto font-mono">{schemaText(row.responses['200']?.content)}</pre>
      </div>
    </details>
  );
}

/** An example that works as it stands, before the schema. */
function Example({ content }: { readonly content: Readonly<Record<string, Body>> | undefined }) {
  const { t } = useTranslation();
  const { example } = bodyIn(content);
  if (example === undefined) return null;
  return (
    <>
      <p className="text-ink-3">{t('apiDocs.example')}</p>
      <pre className="max-h-72 overflow-auto font-mono">{JSON.stringify(example, null, 2)}</pre>
    </>
  );
}

export function ApiDocsPage() {
  const { t } = useTranslation();
  const url = useUrl();
  const document = useRead({ queryKey: ['openapi', currentLanguage()], queryFn: () => call('status.openapi') }).data;
  const needle = url.get('q').trim().toLowerCase();
  const rows = document === undefined ? [] : rowsOf(document);
  const found = rows.filter((row) => `${row.path} ${row.operationId} ${row.summary}`.toLowerCase().includes(needle));
  const titles = document === undefined ? new Map<string, string>() : titlesIn(document);
  const groups = Map.groupBy(found, (row) => row.tags[0] ?? '');
  return (
    <>
      <PageHead title={t('apiDocs.title')} count={document === undefined ? undefined : found.length}>
        <input
          type="search"
          data-key="/"
          className="field h-7 w-52 max-sm:order-1 max-sm:h-11 max-sm:basis-full"
          placeholder={t('apiDocs.search')}
          aria-label={t('apiDocs.search')}
          value={url.get('q')}
          onChange={(event) => url.set('q', event.target.value)}
        />
        <a href={`${basePath}/api/openapi.json`} className="button">
          {t('apiDocs.download')}
        </a>
      </PageHead>
      <p className="px-5 pb-3 text-ink-2">{t('apiDocs.help')}</p>
      {document === undefined ? <Waiting /> : null}
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 px-5 pb-6">
        {[...groups].map(([name, inside]) => (
          <section key={name} aria-label={titles.get(name) ?? name} className="rounded-3 border border-line">
            <h2 className="flex items-baseline gap-2 border-b border-line px-4 py-2 font-semibold">
              {titles.get(name) ?? name} <span className="font-normal text-ink-3">{inside.length}</span>
            </h2>
            {inside.map((row) => (
              <Call key={row.operationId} row={row} />
            ))}
          </section>
        ))}
      </div>
    </>
  );
}
