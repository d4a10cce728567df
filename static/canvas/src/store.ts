/* One value that several parts of a page watch. */

export class Store<T> {
  private readonly watchers = new Set<() => void>();

  constructor(private value: T) {}

  get = (): T => this.value;

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const watcher of [...this.watchers]) watcher();
  }

  change(change: Partial<T>): void {
    this.set({ ...this.value, ...change });
  }

  /** @returns what ends the watch. */
  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };
}
