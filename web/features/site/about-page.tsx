/** What this site is: in the administrator's words, or what it says of itself. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { textIn } from '../../../server/contract/language.ts';
import { CallExample } from '../../components/call-example.tsx';
import { Frame } from '../../components/frame.tsx';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { siteAddress } from '../../lib/base-path.ts';
import { grouped } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useRead } from '../../lib/read.ts';
import { isRoot, useUser } from '../../lib/session.ts';
import { docsFor, useStatus } from '../../lib/status.ts';
import { BaseUrl } from './base-url.tsx';
import { useExampleModel, usePrices } from './prices.ts';

/** What there is, in figures. */
function Figures() {
  const { t } = useTranslation();
  const version = useStatus().data?.version;
  const prices = usePrices().data;
  const models = prices?.data ?? [];
  const makers = new Set(models.flatMap(({ maker }) => (maker === null ? [] : [textIn(maker, currentLanguage())])));
  const figures = [
    ...(prices === undefined ? [] : [[t('site.models'), grouped(models.length)] as const]),
    ...(makers.size === 0 ? [] : [[t('site.providers'), grouped(makers.size)] as const]),
    ...(version === undefined ? [] : [[t('site.version'), version] as const]),
    [t('site.licence'), 'MIT'] as const,
  ];
  return (
    <section aria-label={t('nav.about')} className="rounded-3 border border-line bg-surface">
      <dl className="grid grid-cols-2 gap-x-4 gap-y-3 px-4 py-3 sm:grid-cols-4">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt className="text-[12px] text-ink-3">{label}</dt>
            <dd className="text-[20px] leading-7 font-semibold">{value}</dd>
          </div>
        ))}
      </dl>
      <dl className="grid gap-x-4 border-t border-line px-4 py-2.5 sm:grid-cols-4">
        <dt className="text-ink-3">{t('site.protocols')}</dt>
        <dd className="sm:col-span-3">OpenAI · Anthropic · Gemini</dd>
        {makers.size === 0 ? null : (
          <>
            <dt className="text-ink-3 max-sm:mt-1.5">{t('site.makers')}</dt>
            <dd className="text-pretty sm:col-span-3">{[...makers].join(' · ')}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** The pages a reader goes on to. */
function NextPages() {
  const { t } = useTranslation();
  const user = useUser();
  const docs = docsFor(user, useStatus().data);
  const pages = [
    ['/pricing', t('nav.pricing'), t('site.pricingText')],
    ['/api-docs', t('apiDocs.title'), t('site.apiText')],
    ...(docs === null ? [] : [[docs, t('nav.docs'), t('site.docsText')] as const]),
    user === null ? ['/login', t('nav.login'), t('site.loginText')] : ['/token', t('tokens.title'), t('site.keysText')],
  ] as const;
  const classes = 'group flex h-full flex-col rounded-3 border border-line bg-surface px-4 py-3 hover:bg-hover';
  const content = (title: string, text: string) => (
    <>
      <span className="font-medium text-accent-text group-hover:underline">{title}</span>
      <span className="text-[12px] leading-4 text-pretty text-ink-2">{text}</span>
    </>
  );
  return (
    <nav aria-label={t('site.next')}>
      <h2 className="mb-2 font-semibold">{t('site.next')}</h2>
      <ul className="grid gap-3 sm:grid-flow-col sm:auto-cols-fr">
        {pages.map(([to, title, text]) => (
          <li key={to}>
            {to === docs ? (
              <a href={to} target="_blank" rel="noreferrer" className={classes}>
                {content(title, text)}
              </a>
            ) : (
              <Link href={to} className={classes}>
                {content(title, text)}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </nav>
  );
}

function OwnAbout() {
  const { t } = useTranslation();
  const status = useStatus().data;
  const model = useExampleModel();
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <p className="text-[15px] leading-6 text-pretty text-ink-2">
        {t('site.aboutText', { name: status?.system_name ?? '' })}
      </p>
      <Figures />
      <section aria-labelledby="about-call" className="grid grid-cols-[minmax(0,1fr)] gap-3">
        <h2 id="about-call" className="-mb-1 font-semibold">
          {t('site.call')}
        </h2>
        <BaseUrl address={status?.server_address || siteAddress()} />
        <CallExample title={t('site.example')} model={model} />
      </section>
      <NextPages />
    </div>
  );
}

export function AboutPage() {
  const { t } = useTranslation();
  const root = isRoot(useUser());
  const about = useRead({ queryKey: ['about'], queryFn: () => call('status.about') }).data;
  return (
    <div className="mx-auto max-w-4xl py-4">
      <PageHead title={t('nav.about')} large>
        {root && about !== undefined ? (
          <Link href="/setting?q=About" className="button">
            <Icon name="edit" />
            {t(about === '' ? 'site.writeAbout' : 'site.edit')}
          </Link>
        ) : null}
      </PageHead>
      <div className="px-5 pb-4">
        {about === undefined ? <Waiting /> : null}
        {about ? (
          <>
            <Frame title={t('nav.about')} content={about} asPage />
            <p className="mt-6 flex gap-2">
              <Link href="/pricing" className="button">
                {t('nav.pricing')}
              </Link>
              <Link href="/api-docs" className="button">
                {t('apiDocs.title')}
              </Link>
            </p>
          </>
        ) : null}
        {about === '' ? <OwnAbout /> : null}
        {root && about === '' ? <p className="mt-4 text-[12px] text-ink-3">{t('site.noAbout')}</p> : null}
      </div>
    </div>
  );
}
