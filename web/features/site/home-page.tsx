/** The front door: the administrator's own page, or what this site is, which models it has at what price, and how they are called. */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { textIn } from '../../../server/contract/language.ts';
import { CallExample } from '../../components/call-example.tsx';
import { Checklist } from '../../components/checklist.tsx';
import { Frame } from '../../components/frame.tsx';
import { Icon } from '../../components/icon.tsx';
import { type Level, levelRank, ModelLevel, useLevels } from '../../components/model-level.tsx';
import { PageHead } from '../../components/page.tsx';
import { Scrolls } from '../../components/scrolls.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { siteAddress } from '../../lib/base-path.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { sizeText } from '../../lib/currency.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { useHeld, useRead } from '../../lib/read.ts';
import { isAdmin, isRoot, useUser } from '../../lib/session.ts';
import { useStatus } from '../../lib/status.ts';
import { BaseUrl } from './base-url.tsx';
import { useExampleModel, usePrices } from './prices.ts';

const endpoints = [
  ['OpenAI', '/v1/chat/completions'],
  ['OpenAI Responses', '/v1/responses'],
  ['Anthropic', '/v1/messages'],
  ['Gemini', '/v1beta/models/{model}:generateContent'],
] as const;
/** Columns that give way on a phone. */
const wideOnly = 'max-sm:hidden';
/** The rest is on the page of prices. */
const maxModels = 12;

type Priced = OutputOf<EndpointOf<'pricing.get'>>['data'][number];

/** Dollars as they are read, cents in line with each other: $2.50, $20.00, $0.0375. */
function dollars(value: number): string {
  const text = Number(value.toPrecision(4)).toString();
  const [whole = '', fraction = ''] = text.split('.');
  return text.includes('e') ? `$${text}` : `$${whole}.${fraction.padEnd(2, '0')}`;
}

function Prices({ model, perUnit }: { readonly model: Priced; readonly perUnit: number }) {
  const { t } = useTranslation();
  if (model.quota_type === 1)
    return (
      <td className="number" colSpan={2}>
        {t('site.perCall', { price: dollars(model.model_price) })}
      </td>
    );
  const input = (model.model_ratio * 1_000_000) / perUnit;
  return (
    <>
      <td className="number">{dollars(input)}</td>
      <td className="number">{dollars(input * model.completion_ratio)}</td>
    </>
  );
}

function Models() {
  const { t } = useTranslation();
  const perUnit = useMoneyDetails()?.quotaPerUnit;
  const list = usePrices().data;
  const levels = useLevels().data;
  if (list === undefined || perUnit === undefined) return null;
  const levelOf = ({ model_name: name }: Priced): Level => levels?.[name] ?? 'none';
  const models = list.data.toSorted((one, other) => levelRank[levelOf(one)] - levelRank[levelOf(other)]);
  const shown = models.slice(0, maxModels);
  const withMaker = shown.some(({ maker }) => maker !== null);
  const withContext = shown.some(({ context }) => context !== null);
  return (
    <section aria-labelledby="home-models">
      <h2 id="home-models" className="mb-2 font-semibold">
        {t('site.models')}
      </h2>
      {models.length === 0 ? (
        <p className="text-ink-2">{t('site.noModels')}</p>
      ) : (
        <>
          <Scrolls
            className="in-card overflow-x-auto rounded-3 border border-line [&_tbody_tr:last-child>td]:border-b-0"
            aria-labelledby="home-models"
          >
            <table className="sheet-table max-sm:[&_:is(th,td)]:px-2">
              <thead>
                <tr>
                  <th scope="col">{t('site.model')}</th>
                  {withMaker ? (
                    <th scope="col" className={wideOnly}>
                      {t('pricing.maker')}
                    </th>
                  ) : null}
                  {withContext ? (
                    <th scope="col" className={`number ${wideOnly}`}>
                      {t('pricing.context')}
                    </th>
                  ) : null}
                  <th scope="col" className="number">
                    {t('site.in')}
                  </th>
                  <th scope="col" className="number">
                    {t('site.out')}
                  </th>
                  <th scope="col" className="pl-6 max-sm:hidden">
                    {t('site.status')}
                  </th>
                </tr>
              </thead>
              <tbody>
                {shown.map((model) => {
                  const { model_name: name, maker, context } = model;
                  const level = <ModelLevel level={levelOf(model)} />;
                  return (
                    <tr key={name}>
                      <td className="max-w-60 max-sm:max-w-40 max-sm:py-1.5">
                        <code className="block truncate font-mono text-[12px]" title={name}>
                          {name}
                        </code>
                        <span className="text-[12px] sm:hidden">{level}</span>
                      </td>
                      {withMaker ? (
                        <td className={`text-ink-2 ${wideOnly}`}>
                          {maker === null ? '–' : textIn(maker, currentLanguage())}
                        </td>
                      ) : null}
                      {withContext ? <td className={`number ${wideOnly}`}>{sizeText(context)}</td> : null}
                      <Prices model={model} perUnit={perUnit} />
                      <td className="pl-6 max-sm:hidden">{level}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </Scrolls>
          <p className="mt-2">
            <Link href="/pricing">
              {models.length > shown.length ? t('site.allModels', { total: models.length }) : t('nav.pricing')}
            </Link>
          </p>
        </>
      )}
    </section>
  );
}

function Markdown({ text }: { readonly text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let current = true;
    void import('../../lib/markdown.ts').then(({ toSafeHtml }) => {
      if (current && place.current !== null) place.current.innerHTML = toSafeHtml(text);
    });
    return () => {
      current = false;
    };
  }, [text]);
  return (
    <div ref={place} className="markdown max-w-2xl text-[14px] text-pretty text-ink-2">
      <p>{text}</p>
    </div>
  );
}

/** What the site is, in the administrator's words; he changes them where they stand. */
function Introduction() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const root = isRoot(useUser());
  const own = useStatus().data?.home_text ?? '';
  const text = own === '' ? t('site.homeText') : own;
  const [draft, setDraft] = useState<string | null>(null);
  if (draft === null)
    return (
      <div className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <Markdown text={text} />
        </div>
        {root ? (
          <button type="button" className="button" onClick={() => setDraft(text)}>
            <Icon name="edit" />
            {t('site.edit')}
          </button>
        ) : null}
      </div>
    );
  const save = () =>
    attempt(async () => {
      await call('option.set', { key: 'console_setting.home_text', value: draft.trim() });
      await client.invalidateQueries({ queryKey: ['status'] });
      setDraft(null);
    });
  return (
    <form
      className="grid gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <textarea
        className="field"
        rows={5}
        // biome-ignore lint/a11y/noAutofocus: the reader has just asked to write here
        autoFocus
        aria-label={t('site.editText')}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
      />
      <p className="flex gap-2">
        <button type="submit" className="button button-primary">
          {t('app.save')}
        </button>
        <button type="button" className="button" onClick={() => setDraft(null)}>
          {t('app.cancel')}
        </button>
      </p>
    </form>
  );
}

function Endpoints({ address }: { readonly address: string }) {
  const { t } = useTranslation();
  return (
    <section aria-labelledby="home-call">
      <h2 id="home-call" className="mb-2 font-semibold">
        {t('site.call')}
      </h2>
      <dl className="grid gap-px overflow-hidden rounded-3 border border-line bg-line @4xl:grid-cols-2 @6xl:grid-cols-1">
        {endpoints.map(([protocol, path]) => (
          <div key={protocol} className="bg-surface py-2 pr-1 pl-4">
            <dt className="text-[12px] text-ink-2">{protocol}</dt>
            <dd className="flex items-center gap-2">
              <code className="min-w-0 flex-1 font-mono text-[12px] wrap-anywhere">{`${address}${path}`}</code>
              <button
                type="button"
                className="button button-ghost"
                aria-label={t('site.copyAddress', { protocol })}
                onClick={() => copyOrShow(`${address}${path}`)}
              >
                <Icon name="copy" />
              </button>
            </dd>
          </div>
        ))}
      </dl>
      <p className="mt-2">
        <Link href="/api-docs">{t('apiDocs.title')}</Link>
      </p>
    </section>
  );
}

/** What this site is, has and costs. */
function OwnHome() {
  const { t } = useTranslation();
  const user = useUser();
  const status = useStatus().data;
  const prices = usePrices();
  const model = useExampleModel();
  const held = useHeld([prices, useLevels()].some(({ isPending }) => isPending));
  if (held) return <Waiting />;
  const address = status?.server_address || siteAddress();
  const mayRegister = status?.register_enabled === true && status.self_use_mode_enabled !== true;
  return (
    <div className="@container mx-auto max-w-7xl py-4 @4xl:py-8">
      {/* What it is and how it is called in one sight. */}
      <div className="mx-5 grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-5 @4xl:grid-cols-[minmax(0,7fr)_minmax(0,6fr)] @6xl:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]">
        <div>
          <div className="-mx-5">
            <PageHead title={t('site.homeTitle')} large />
          </div>
          <div className="grid gap-5">
            <Introduction />
            <p className="flex flex-wrap gap-2">
              {user === null ? (
                <>
                  <Link href={mayRegister ? '/register' : '/login'} className="button button-primary">
                    {t(mayRegister ? 'nav.register' : 'nav.login')}
                  </Link>
                  <Link href="/pricing" className="button">
                    {t('nav.pricing')}
                  </Link>
                </>
              ) : (
                <>
                  <Link href="/token" className="button button-primary">
                    {t('tokens.title')}
                  </Link>
                  <Link href="/playground" className="button">
                    {t('playground.title')}
                  </Link>
                </>
              )}
            </p>
            <BaseUrl address={address} />
          </div>
        </div>
        {/* As high as what it stands beside. */}
        <div className="grid grid-cols-[minmax(0,1fr)] @4xl:mt-4 [&>section]:flex [&>section]:flex-col [&>section>div]:grid [&>section>div]:flex-1 [&>section>div]:grid-cols-[minmax(0,1fr)]">
          <CallExample title={t('site.example')} model={model} />
        </div>
      </div>
      <div className="mx-5 mt-8 grid grid-cols-[minmax(0,1fr)] gap-6">
        {isAdmin(user) ? <Checklist /> : null}
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 @6xl:grid-cols-[minmax(0,7fr)_minmax(0,5fr)] @6xl:gap-8">
          <Models />
          <Endpoints address={address} />
        </div>
      </div>
    </div>
  );
}

export function HomePage() {
  const status = useStatus().data;
  const home = useRead({ queryKey: ['home'], queryFn: () => call('status.home'), staleTime: 60_000 }).data;
  if (home === undefined) return <Waiting />;
  if (home === '') return <OwnHome />;
  const title = status?.system_name ?? '';
  return (
    <div className={/^https:\/\/\S+$/.test(home.trim()) ? 'h-full' : 'mx-auto max-w-4xl px-5 py-6'}>
      <h1 className="sr-only">{title}</h1>
      <Frame title={title} content={home} asPage />
    </div>
  );
}
