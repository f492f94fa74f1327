/** The conversation with one to three models: what was said, what is being said, and the way to stop it. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { askChat } from '../../lib/chat-stream.ts';
import {
  type Answer,
  type Attachment,
  bodyOf,
  type ModelSupport,
  messagesOf,
  noAnswer,
  type Settings,
  type Turn,
} from './conversation.ts';
import { type Kept, readKept, writeKept } from './keep.ts';

/** The log is written behind the answer. */
const costAttempts = 8;
const costRetryMs = 600;
const keepMs = 400;

export interface Conversation extends Kept {
  readonly busy: boolean;
  readonly setModels: (models: readonly string[]) => void;
  readonly setSettings: (some: Partial<Settings>) => void;
  /** @param at turn that is sent again, without all turns after it; absent = a new one. */
  readonly send: (text: string, files: readonly Attachment[], at?: number) => void;
  /** Asks the last question again. @param place of one model. */
  readonly retry: (place: number) => void;
  /** Hands tools' results to the model at a place. */
  readonly addResults: (place: number, results: Readonly<Record<string, string>>) => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

export interface ConversationOptions {
  /** Names of the models, by place. */
  readonly names: readonly string[];
  readonly takes: (model: string) => ModelSupport | undefined;
}

export function useConversation({ names, takes }: ConversationOptions): Conversation {
  const { t } = useTranslation();
  const [kept, setKept] = useState<Kept>(readKept);
  const [open, setOpen] = useState(0);
  const abort = useRef<AbortController | null>(null);
  const current = useRef(kept);
  const change = useCallback((edit: (old: Kept) => Kept) => {
    current.current = edit(current.current);
    setKept(current.current);
  }, []);
  useEffect(() => {
    const write = () => writeKept(kept);
    const timer = setTimeout(write, keepMs);
    // A page that is left or loaded again does not wait.
    addEventListener('pagehide', write);
    return () => {
      clearTimeout(timer);
      removeEventListener('pagehide', write);
    };
  }, [kept]);
  useEffect(() => () => abort.current?.abort(), []);

  const edit = (id: number, place: number, work: (answers: readonly Answer[]) => readonly Answer[]) =>
    change((old) => ({
      ...old,
      turns: old.turns.map((turn) =>
        turn.id === id
          ? { ...turn, answers: turn.answers.map((answers, at) => (at === place ? work(answers) : answers)) }
          : turn,
      ),
    }));
  const editLast = (id: number, place: number, some: Partial<Answer>) =>
    edit(id, place, (answers) =>
      answers.map((answer, at) => (at === answers.length - 1 ? { ...answer, ...some } : answer)),
    );

  const readCost = async (id: number, place: number, requestId: string) => {
    for (let n = 0; n < costAttempts && requestId !== ''; n++) {
      await new Promise((resolve) => setTimeout(resolve, costRetryMs * (n + 1)));
      const found = await call('log.self', { request_id: requestId, p: 1, page_size: 1 }).catch(() => null);
      const row = found?.items[0];
      if (row === undefined) continue;
      return editLast(id, place, {
        ...{ cost: row.quota, logId: row.id },
        ...(row.completion_tokens > 0 ? { tokensIn: row.prompt_tokens, tokensOut: row.completion_tokens } : {}),
      });
    }
  };

  /** Asks the model at a place about all turns up to this one. */
  const ask = async (turn: number, place: number, control: AbortController) => {
    const { turns, settings } = current.current;
    const at = turns.findIndex(({ id }) => id === turn);
    const system = settings.system.trim() === '' ? t('playground.defaultSystem') : settings.system;
    const messages = messagesOf(turns.slice(0, at + 1), place, system);
    const model = names[place] ?? '';
    edit(turn, place, (answers) => [...answers, noAnswer]);
    setOpen((count) => count + 1);
    let requestId = '';
    try {
      await askChat({
        body: bodyOf(settings, model, messages, takes(model)),
        signal: control.signal,
        onChange(answer) {
          requestId = answer.requestId;
          editLast(turn, place, answer);
        },
      });
      editLast(turn, place, { state: 'complete' });
    } catch (error) {
      const stopped = control.signal.aborted;
      editLast(turn, place, { state: stopped ? 'stopped' : 'error', error: stopped ? '' : messageOf(error) });
    } finally {
      setOpen((count) => count - 1);
    }
    await readCost(turn, place, requestId);
  };
  const control = (): AbortController => {
    abort.current = new AbortController();
    return abort.current;
  };

  return {
    ...kept,
    busy: open > 0,
    setModels: (models) => change((old) => ({ ...old, models })),
    setSettings: (some) => change((old) => ({ ...old, settings: { ...old.settings, ...some } })),
    send(text, files, at) {
      const { turns } = current.current;
      const before = at === undefined ? turns : turns.slice(0, at);
      const id = Math.max(0, ...turns.map((turn) => turn.id)) + 1;
      const turn: Turn = { id, text, files, answers: names.map(() => []) };
      change((old) => ({ ...old, turns: [...before, turn] }));
      const one = control();
      for (const place of names.keys()) void ask(id, place, one);
    },
    retry(place) {
      const last = current.current.turns.at(-1);
      if (last === undefined) return;
      change((old) => ({
        ...old,
        turns: old.turns.map((turn) =>
          turn === last
            ? { ...turn, answers: names.map((_name, at) => (at === place ? [] : (turn.answers[at] ?? []))) }
            : turn,
        ),
      }));
      void ask(last.id, place, control());
    },
    addResults(place, results) {
      const last = current.current.turns.at(-1);
      if (last === undefined) return;
      editLast(last.id, place, { results });
      void ask(last.id, place, control());
    },
    stop: () => abort.current?.abort(),
    clear: () => change((old) => ({ ...old, turns: [] })),
  };
}
