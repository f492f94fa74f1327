/** Above the rows of one conversation: what it cost, what of it in helpers, what a cache had, and each question. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Conversation } from '../../../server/contract/endpoints/log.ts';
import { call } from '../../lib/api.ts';
import { dateTime, grouped, percentText } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';

const shareOf = (part: number, whole: number): string => percentText(whole === 0 ? 0 : part / whole);

/** Rows of the log with a name, of all times. */
const rowsWith = (filter: Readonly<Record<string, string>>): string =>
  `/log?${new URLSearchParams({ range: 'all', ...filter })}`;

export interface ConversationPanelProps {
  readonly session: string;
  readonly admin: boolean;
  /** Whose it is, where an administrator chose one. */
  readonly username: string;
}

export function ConversationPanel({ session, admin, username }: ConversationPanelProps) {
  const { t } = useTranslation();
  const found = useOptionalRead({
    queryKey: ['conversation', admin, session, username],
    queryFn: () =>
      admin ? call('log.conversation', { session, username }) : call('log.self_conversation', { session }),
  }).data;
  if (found === undefined) return null;
  const cached = t('logs.conversation.cached', { share: shareOf(found.cached_tokens, found.input_tokens) });
  return (
    <section aria-labelledby="conversation" className="px-5 pb-3">
      <h2 id="conversation" className="text-[14px] font-semibold">
        {t('logs.conversation.title')}
      </h2>
      <p className="text-ink-3">
        {[found.username, found.agent, found.project, found.models.join(', ')]
          .filter((word) => word !== '')
          .join(' · ')}
      </p>
      <p>
        <CostWords cost={found} />
        {' · '}
        {t('logs.conversation.requests', { count: found.requests, shown: grouped(found.requests) })}
        {' · '}
        {cached}
      </p>
      <Prompts found={found} />
      <Helpers found={found} />
    </section>
  );
}

/** "$1.84: 62 % in 7 subagents". */
function CostWords({ cost }: { readonly cost: Pick<Conversation, 'quota' | 'subagents' | 'subagent_quota'> }) {
  const { t } = useTranslation();
  const money = useMoney();
  const { quota, subagents, subagent_quota: inHelpers } = cost;
  return (
    <>
      <b>{money(quota)}</b>
      {subagents === 0
        ? null
        : `: ${t('logs.conversation.inHelpers', { count: subagents, share: shareOf(inHelpers, quota) })}`}
    </>
  );
}

function Prompts({ found }: { readonly found: Conversation }) {
  const { t } = useTranslation();
  return (
    <details>
      <summary>{t('logs.conversation.prompts', { count: found.prompt_count })}</summary>
      <ol className="max-h-64 overflow-auto">
        {found.prompts.map((prompt) => (
          <li key={prompt.name} className="flex flex-wrap gap-x-3">
            <time dateTime={new Date(prompt.at * 1000).toISOString()}>{dateTime(prompt.at)}</time>
            {prompt.name === '' ? (
              <span className="text-ink-3">{t('logs.conversation.noPrompt')}</span>
            ) : (
              <Link
                href={rowsWith({ session: found.session, prompt: prompt.name })}
                className="text-accent-text underline"
              >
                {prompt.name}
              </Link>
            )}
            <span>
              <CostWords cost={prompt} />
            </span>
            <span className="text-ink-3">
              {t('logs.conversation.requests', { count: prompt.requests, shown: grouped(prompt.requests) })}
              {' · '}
              {t('logs.conversation.cached', { share: shareOf(prompt.cached_tokens, prompt.input_tokens) })}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function Helpers({ found }: { readonly found: Conversation }) {
  const { t } = useTranslation();
  const money = useMoney();
  if (found.subagents === 0) return null;
  return (
    <details>
      <summary>{t('logs.conversation.helpers', { count: found.subagents })}</summary>
      <ol className="max-h-64 overflow-auto">
        {found.helpers.map(({ name, requests, quota }) => (
          <li key={name} className="flex flex-wrap gap-x-3">
            <Link href={rowsWith({ session: found.session, subagent: name })} className="text-accent-text underline">
              {name}
            </Link>
            <b>{money(quota)}</b>
            <span className="text-ink-3">
              {t('logs.conversation.requests', { count: requests, shown: grouped(requests) })}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}
