/** Talk to one to three models on one's own account: parameters beside, answers in the middle, what each cost below it. */
import { type RefObject, type SyntheticEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Link } from 'wouter';
import { Empty } from '../../components/empty.tsx';
import { FailureNote } from '../../components/failure.tsx';
import { Icon } from '../../components/icon.tsx';
import { Sheet } from '../../components/overlay.tsx';
import { PageHead } from '../../components/page.tsx';
import { Scrolls } from '../../components/scrolls.tsx';
import { call } from '../../lib/api.ts';
import { useMoney } from '../../lib/money.ts';
import { useNarrow } from '../../lib/narrow.ts';
import { useList, useOptionalRead, useOptionalReads } from '../../lib/read.ts';
import { isAdmin, useUser } from '../../lib/session.ts';
import { Code } from './code.tsx';
import { type Attachment, bodyOf, invalidSetting, messagesOf, type Turn } from './conversation.ts';
import { attachmentsOf } from './files.ts';
import { maxModels, readKept } from './keep.ts';
import { SettingsForm } from './settings-form.tsx';
import { Files, Turns } from './turns.tsx';
import { type Conversation, useConversation } from './use-conversation.ts';

const defaultModel = 'gpt-4o-mini';

interface Draft {
  readonly text: string;
  readonly files: readonly Attachment[];
  /** The turn that is sent again. */
  readonly at?: number;
}
const noDraft: Draft = { text: '', files: [] };

interface ComposerProps {
  readonly draft: Draft;
  readonly onDraft: (draft: Draft) => void;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly conversation: Conversation;
  /** Several models answer side by side, over the whole width. */
  readonly wide: boolean;
  /** There is nobody to send it to. */
  readonly off: boolean;
  /** null = no more models can be asked. */
  readonly onCompare: (() => void) | null;
  readonly onSend: () => void;
}

function Composer({ draft, onDraft, field, conversation, wide, off, onCompare, onSend }: ComposerProps) {
  const { t } = useTranslation();
  const money = useMoney();
  const picker = useRef<HTMLInputElement>(null);
  const self = useOptionalRead({ queryKey: ['self'], queryFn: () => call('user.self') }).data;
  const latest = useRef(draft);
  latest.current = draft;
  const add = async (files: readonly File[]) => {
    const more = await attachmentsOf(files);
    if (more.length < files.length) toast.error(t('playground.tooLarge'));
    onDraft({ ...latest.current, files: [...latest.current.files, ...more] });
  };
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    onSend();
  };
  const editing = draft.at !== undefined;
  useEffect(() => {
    if (editing) field.current?.focus();
  }, [editing, field]);
  const costs = conversation.turns.flatMap(({ answers }) => answers.flat().map(({ cost }) => cost ?? 0));
  return (
    <form
      onSubmit={submit}
      className={`mx-auto w-full flex-none px-5 pt-3 pb-3 ${wide ? '' : 'max-w-[800px]'}`}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void add([...event.dataTransfer.files]);
      }}
    >
      <div className="rounded-3 border border-line-control bg-surface p-2 focus-within:border-accent">
        <Files
          files={draft.files}
          onRemove={(at) => onDraft({ ...draft, files: draft.files.filter((_f, n) => n !== at) })}
        />
        <textarea
          ref={field}
          className="w-full resize-none bg-transparent px-1 text-[14px] outline-none max-sm:text-[16px]"
          rows={2}
          aria-label={t('playground.say')}
          placeholder={t('playground.say')}
          value={draft.text}
          onChange={(event) => onDraft({ ...draft, text: event.target.value })}
          onPaste={(event) => {
            const files = [...event.clipboardData.files];
            if (files.length === 0) return;
            event.preventDefault();
            void add(files);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
            if (event.key === 'Escape' && editing) onDraft(noDraft);
          }}
        />
        <div className="flex items-center gap-2">
          <button type="button" className="button button-ghost" onClick={() => picker.current?.click()}>
            <Icon name="plus" />
            {t('playground.attach')}
          </button>
          <input
            ref={picker}
            type="file"
            multiple
            className="hidden"
            tabIndex={-1}
            aria-label={t('playground.attach')}
            onChange={(event) => {
              void add([...(event.target.files ?? [])]);
              event.target.value = '';
            }}
          />
          {onCompare === null || editing ? null : (
            <button type="button" className="button button-ghost" onClick={onCompare}>
              <Icon name="columns" />
              {t('playground.compare')}
            </button>
          )}
          {editing ? (
            <button type="button" className="button button-ghost" onClick={() => onDraft(noDraft)}>
              {t('playground.leaveEdit')}
            </button>
          ) : null}
          {conversation.busy ? (
            <button type="button" className="button ml-auto" onClick={conversation.stop}>
              {t('playground.stopNow')}
            </button>
          ) : (
            <button type="submit" className="button button-primary ml-auto" disabled={off}>
              {t('playground.send')}
            </button>
          )}
        </div>
      </div>
      <p className="mt-1 flex gap-3 text-[12px] text-ink-3">
        <span className="flex-1">
          {costs.length === 0
            ? ''
            : t('playground.sum', {
                count: costs.length,
                cost: money(
                  costs.reduce((sum, cost) => sum + cost, 0),
                  'exact',
                ),
              })}
        </span>
        <span>{t('playground.balance', { balance: money(self?.quota) })}</span>
      </p>
    </form>
  );
}

export function PlaygroundPage() {
  const { t } = useTranslation();
  const narrow = useNarrow();
  const {
    data: known,
    pending: isPending,
    failure,
  } = useList({ queryKey: ['own-models'], queryFn: () => call('user.models') });
  const [selected, setSelected] = useState(() => readKept().models);
  /** Nobody serves anything yet. */
  const none = known?.length === 0;
  const admin = isAdmin(useUser());
  const fallback = known === undefined || known.includes(defaultModel) ? defaultModel : (known[0] ?? '');
  const names = selected.map((name) => name || (known === undefined ? '' : fallback));
  const takes = useOptionalReads(
    names.map((model) => ({
      queryKey: ['model-takes', model],
      queryFn: () => call('model.takes', { model }),
      enabled: model !== '' && (known?.includes(model) ?? false),
      staleTime: Number.POSITIVE_INFINITY,
    })),
  );
  const conversation = useConversation({ names, takes: (model) => takes[names.indexOf(model)] });
  const [draft, setDraft] = useState<Draft>(noDraft);
  const field = useRef<HTMLTextAreaElement>(null);
  const [settingsOpen, setSettingsOpen] = useState(false);
  const [code, setCode] = useState(false);
  useEffect(() => {
    if (new URLSearchParams(location.search).get('expired') === 'true') toast.error(t('login.expired'));
  }, [t]);
  const setModels = (models: readonly string[]) => {
    setSelected(models);
    conversation.setModels(models);
  };
  const send = () => {
    const text = draft.text.trim();
    if ((text === '' && draft.files.length === 0) || conversation.busy || none || names[0] === '') return;
    const invalid = invalidSetting(conversation.settings);
    if (invalid !== null) {
      toast.error(t('app.named', { name: t(`playground.${invalid}`), value: t('playground.unreadable') }));
      return;
    }
    conversation.send(text, draft.files, draft.at);
    setDraft(noDraft);
  };
  const asked: Turn = { id: -1, text: draft.text || t('playground.hello'), files: draft.files, answers: [] };
  const system =
    conversation.settings.system.trim() === '' ? t('playground.defaultSystem') : conversation.settings.system;

  const settings = (
    <SettingsForm
      settings={conversation.settings}
      models={selected}
      {...{ names, known, takes }}
      onModels={setModels}
      onChange={conversation.setSettings}
    />
  );
  return (
    <div className="flex h-full flex-col">
      <PageHead title={t('playground.title')}>
        <button
          type="button"
          className="button lg:hidden"
          aria-expanded={settingsOpen}
          onClick={() => setSettingsOpen(!settingsOpen)}
        >
          {t('settings.title')}
        </button>
        <button type="button" className="button" aria-pressed={code} onClick={() => setCode(!code)}>
          <Icon name="log" />
          <span className="max-sm:sr-only">{t('playground.code')}</span>
        </button>
        <button
          type="button"
          className="button"
          disabled={conversation.turns.length === 0 || conversation.busy}
          onClick={conversation.clear}
        >
          {t('playground.clear')}
        </button>
      </PageHead>
      {failure === null ? null : (
        <div className="px-5 pb-3">
          <FailureNote failure={failure} title={t('playground.modelsFailed')} />
        </div>
      )}
      {narrow && settingsOpen ? (
        <Sheet title={t('settings.title')} onClose={() => setSettingsOpen(false)}>
          <div className="-mx-5 -my-4">{settings}</div>
        </Sheet>
      ) : null}
      <div aria-busy={isPending} className="flex min-h-0 flex-1 border-t border-line">
        {narrow ? null : (
          <Scrolls
            as="aside"
            aria-label={t('settings.title')}
            className={`w-64 flex-none overflow-auto border-r border-line xl:w-72 ${settingsOpen ? '' : 'max-lg:hidden'}`}
          >
            {settings}
          </Scrolls>
        )}
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {code ? (
            <Code
              body={bodyOf(
                conversation.settings,
                names[0] ?? '',
                messagesOf([...conversation.turns, asked], 0, system),
                takes[0],
              )}
            />
          ) : none && conversation.turns.length === 0 ? (
            <div className="grid min-h-0 flex-1 content-center overflow-auto px-5 text-ink-2">
              <Empty text={t('pricing.empty')}>
                {admin ? (
                  <Link href="/channel/add" className="button">
                    {t('channels.add')}
                  </Link>
                ) : null}
              </Empty>
            </div>
          ) : (
            <Turns
              turns={conversation.turns}
              names={names}
              busy={conversation.busy}
              onRetry={conversation.retry}
              onEdit={(at) => {
                const turn = conversation.turns[at];
                if (turn !== undefined) setDraft({ text: turn.text, files: turn.files, at });
              }}
              onResults={conversation.addResults}
              onStart={(text) => {
                setDraft({ ...draft, text });
                field.current?.focus();
              }}
            />
          )}
          <Composer
            {...{ draft, field, conversation }}
            wide={names.length > 1}
            off={none}
            onDraft={setDraft}
            onCompare={
              names.length >= maxModels || known === undefined || known.length === 0
                ? null
                : () => setModels([...selected, known.find((name) => !names.includes(name)) ?? known[0] ?? ''])
            }
            onSend={send}
          />
        </div>
      </div>
    </div>
  );
}
