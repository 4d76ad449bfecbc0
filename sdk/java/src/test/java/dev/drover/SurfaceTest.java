package dev.drover;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Programs see plain Java: the messages of the contract are in one class only. */
class SurfaceTest {
  private static final String GENERATED = "dev.drover.v1.";
  private static final List<String> PACKAGES =
      List.of("dev.drover", "dev.drover.workflow", "dev.drover.testing");

  /** All that is public in these packages, from the folder in which the build put the classes. */
  private static List<Class<?>> exported()
      throws IOException, URISyntaxException, ClassNotFoundException {
    Path root = Path.of(Client.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Class<?>> found = new ArrayList<>();
    for (String name : PACKAGES) {
      try (Stream<Path> files = Files.list(root.resolve(name.replace('.', '/')))) {
        for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
          String simple = file.getFileName().toString().replace(".class", "");
          if (!simple.equals("package-info")) {
            found.add(Class.forName(name + "." + simple, false, Client.class.getClassLoader()));
          }
        }
      }
    }
    return found.stream().filter(SurfaceTest::isExported).toList();
  }

  private static boolean isExported(Class<?> type) {
    Class<?> outer = type.getEnclosingClass();
    return isSeen(type.getModifiers()) && (outer == null || isExported(outer));
  }

  private static boolean isSeen(int modifiers) {
    return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
  }

  /** With what it inherits, also from a class that is not public. */
  private static List<String> signatures(Class<?> type) {
    Stream<Member> own = Stream.of(
            type.getDeclaredConstructors(), type.getDeclaredMethods(), type.getDeclaredFields())
        .flatMap(Arrays::stream);
    Stream<Member> inherited =
        Stream.of(type.getMethods(), type.getFields()).flatMap(Arrays::stream);
    Stream<String> members = Stream.concat(own, inherited)
        .filter(member -> isSeen(member.getModifiers())).map(SurfaceTest::generic);
    Stream<Type> above = Stream.concat(
        Stream.ofNullable(type.getGenericSuperclass()), Arrays.stream(type.getGenericInterfaces()));
    return Stream.concat(
            Stream.concat(members, above.map(Type::getTypeName)), Stream.of(type.toGenericString()))
        .distinct().toList();
  }

  private static String generic(Member member) {
    if (member instanceof Field field) {
      return field.toGenericString();
    }
    return ((Executable) member).toGenericString();
  }

  private static List<String> generatedIn(Class<?> type) {
    return signatures(type).stream().filter(one -> one.contains(GENERATED)).toList();
  }

  @Test
  void noMessageOfTheContractIsInASignature() throws Exception {
    List<Class<?>> exported = exported();
    List<String> found = new ArrayList<>();
    for (Class<?> type : exported) {
      if (type != GeneratedClients.class) {
        found.addAll(generatedIn(type));
      }
    }
    assertEquals(List.of(), found);
    // It would find them.
    assertFalse(generatedIn(GeneratedClients.class).isEmpty());
    assertEquals(PACKAGES,
        exported.stream().map(Class::getPackageName).distinct().toList());
  }
}
