/** Who is logged in, as components see it; the server decides about rights on every call. */
import { useSyncExternalStore } from 'react';
import type { User } from '../../server/contract/entities.ts';
import { Role } from '../../server/contract/enum.ts';
import { readUser, storeUser } from './stored-user.ts';

const listeners = new Set<() => void>();

export function writeUser(user: User | null): void {
  storeUser(user);
  for (const listener of listeners) listener();
}

export const useUser = (): User | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    readUser,
    readUser,
  );

let ended = false;

/** The server no longer knows this session, and the page holds something that would be lost by leaving it. */
export function endSession(over: boolean): void {
  ended = over;
  for (const listener of listeners) listener();
}

export const useEnded = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => ended,
  );

let pendingLogin: ((loggedIn: boolean) => void) | null = null;

/** A call wants a login of a moment ago: the shell asks for one. @returns false when the reader would rather not. */
export function askForLogin(): Promise<boolean> {
  pendingLogin?.(false);
  return new Promise((resolve) => {
    pendingLogin = (loggedIn) => {
      pendingLogin = null;
      for (const listener of listeners) listener();
      resolve(loggedIn);
    };
    for (const listener of listeners) listener();
  });
}

/** Answers the caller that waits for a login; null = none waits. */
export const useLoginRequest = (): ((loggedIn: boolean) => void) | null =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => pendingLogin,
  );

export const isAdmin = (user: User | null): boolean => (user?.role ?? Role.guest) >= Role.admin;
export const isRoot = (user: User | null): boolean => (user?.role ?? Role.guest) >= Role.root;

/** What a role is called. */
export const roleLabel = (role: number): 'users.role100' | 'users.role10' | 'users.role1' =>
  role >= Role.root ? 'users.role100' : role >= Role.admin ? 'users.role10' : 'users.role1';
